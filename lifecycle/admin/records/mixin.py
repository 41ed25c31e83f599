"""LifecycleAdminMixin: a lifecycle in the admin page of one's own model."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.utils import quote, unquote
from django.core.exceptions import NON_FIELD_ERRORS, PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext as _

from lifecycle import registry, runtime
from lifecycle.admin.parts import addresses
from lifecycle.admin.parts.styles import STYLES
from lifecycle.admin.records import bulk, firing, inlines, states
from lifecycle.admin.records.panel import panel
from lifecycle.definition.compiled import CompiledTransition, Definition
from lifecycle.exceptions import LifecycleError
from lifecycle.runtime.acting import actor_of
from lifecycle.store import records

if TYPE_CHECKING:
    Base = admin.ModelAdmin[Any]
else:
    Base = object

VERSION = "lifecycle_version"


class LifecycleAdminMixin(Base):
    """Shows and fires lifecycles in a ``ModelAdmin``: ``class OrderAdmin(LifecycleAdminMixin, admin.ModelAdmin)``.

    The change page gets the panel (state, diagram, what is open and what is closed and why, history, runs); each
    transition a page of its own that asks for its input or for a confirmation; the list a badge, a filter and an
    action per transition. Adding goes through the runtime, rows of an inline included (also on the page of a model
    that has no lifecycle itself). Columns of the lifecycle are never typed in.

    A transition that names permissions may be fired by whoever has them and may view the record; any other by those
    who may change the record. Both are asked again when the form arrives, by this class and by the runtime.
    """

    lifecycle_names: Sequence[str] | None = None
    """Which lifecycles of the model to show; all, if left alone."""

    lifecycle_actions = True
    """Whether the list has an action per transition."""

    lifecycle_exclude: Collection[str] = ()
    """Fields that are not validated when a record is added, because the model's own ``save()`` fills them."""

    change_form_template = "admin/lifecycle/record.html"

    def lifecycles(self) -> list[Definition]:
        """The definitions shown, in the order of registration."""
        found = registry.for_model(self.model)
        if self.lifecycle_names is None:
            return found
        return [one for one in found if one.name in self.lifecycle_names]

    @property
    def media(self) -> forms.Media:
        """With the library's two stylesheets."""
        return super().media + STYLES

    # Columns, fields, filters -----------------------------------------------------------------------

    def get_list_display(self, request: HttpRequest) -> Any:
        """The state's column becomes a badge; where no state is named, the badges come last."""
        shown: list[Any] = list(super().get_list_display(request))
        for definition in self.lifecycles():
            column = states.state_column(definition)
            if definition.state_field in shown:
                shown[shown.index(definition.state_field)] = column
            elif "lifecycle_state" in shown:
                shown[shown.index("lifecycle_state")] = column
            else:
                shown.append(column)
        return shown

    def get_list_filter(self, request: HttpRequest) -> Any:
        """A filter per state column."""
        filters: list[Any] = list(super().get_list_filter(request))
        for definition in reversed(self.lifecycles()):
            made = states.state_filter(definition)
            if definition.state_field in filters:
                filters[filters.index(definition.state_field)] = made
            else:
                filters.insert(0, made)
        return filters

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """The lifecycle's columns are its own."""
        return list(dict.fromkeys([*super().get_readonly_fields(request, obj), *self._owned()]))

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """The fields without what the panel says."""
        unnamed = self._unnamed()
        return [field for field in super().get_fields(request, obj) if field not in unnamed]

    def _owned(self) -> list[str]:
        return [name for definition in self.lifecycles() for name in definition.owned_fields]

    def _unnamed(self) -> list[str]:
        named: list[Any] = [*(self.fields or ())]
        for _title, options in self.fieldsets or ():
            named += options.get("fields", ())
        flat = {one for entry in named for one in (entry if isinstance(entry, (list, tuple)) else [entry])}
        return [name for name in self._owned() if name not in flat]

    # Permissions ------------------------------------------------------------------------------------

    def has_fire_permission(self, request: HttpRequest, record: Any, transition: CompiledTransition) -> bool:
        """Whether this user may try to fire a transition here; what it asks for itself, the runtime checks besides."""
        if transition.permissions:
            return self.has_view_permission(request, record)
        return self.has_change_permission(request, record)

    def refuse_to_fire(self, request: HttpRequest, record: Any, transition: CompiledTransition) -> str:
        """Why this user may not try; empty when they may."""
        if self.has_fire_permission(request, record, transition):
            return ""
        return _("You may look at this %(model)s, but not change it.") % {"model": self.opts.verbose_name}

    # Adding and saving ------------------------------------------------------------------------------

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """A new record begins its life through the runtime, with an entry and what that enqueues."""
        found = self.lifecycles()
        if change or not found:
            super().save_model(request, obj, form, change)
            return
        runtime.create(obj, actor=actor_of(request), lifecycle=found[0], exclude=self.lifecycle_exclude)

    def get_inline_instances(self, request: HttpRequest, obj: Any = None) -> Any:
        """The inlines; those of records with a lifecycle show its state and do not ask for it."""
        return inlines.show_states(super().get_inline_instances(request, obj))

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:
        """Rows added to an inline begin their life through the runtime, too."""
        inlines.begin_through_the_runtime(request, formset)
        super().save_formset(request, form, formset, change)

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> Any:
        """The page; what the runtime refuses on the way becomes errors of the form, and nothing is written."""
        try:
            return super().changeform_view(request, object_id, form_url, extra_context)
        except LifecycleError as error:
            if request.method != "POST":
                raise
            request.lifecycle_refusal = error  # type: ignore[attr-defined]
            return super().changeform_view(request, object_id, form_url, extra_context)

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        """The form, which also refuses what was typed on a page that is out of date."""
        made: Any = super().get_form(request, obj, change=change, **kwargs)
        refusal: LifecycleError | None = getattr(request, "lifecycle_refusal", None)
        stale = self._is_stale(request, obj) if change and obj is not None else None
        if refusal is None and stale is None:
            return made

        class Form(made):  # type: ignore[misc]
            def clean(self) -> Any:
                cleaned = super().clean()
                if stale is not None:
                    self.add_error(None, stale)
                if refusal is not None:
                    _put(self, refusal)
                return cleaned

        return Form

    def _is_stale(self, request: HttpRequest, obj: Any) -> str | None:
        if request.method != "POST":
            return None
        for definition in self.lifecycles():
            seen = request.POST.get(f"{VERSION}_{definition.name}")
            if seen is not None and seen != str(records.version_of(definition, obj)):
                return _(
                    "This %(model)s was handled by someone else since the page was drawn: it is at version %(now)s, "
                    "you saw version %(seen)s. Nothing was saved; look at what is above, then save again."
                ) % {"model": self.opts.verbose_name, "now": records.version_of(definition, obj), "seen": seen}
        return None

    # Pages ------------------------------------------------------------------------------------------

    def get_urls(self) -> list[URLPattern]:
        """With a page per transition."""
        own = path(
            "<path:object_id>/lifecycle/<str:lifecycle>/<str:transition>/",
            self.admin_site.admin_view(self.fire_view),
            name=f"{self.opts.app_label}_{self.opts.model_name}_lifecycle_fire",
        )
        return [own, *super().get_urls()]

    def fire_url(self, definition: Definition, record: Any, transition: CompiledTransition) -> str:
        """The address of a transition's page for one record."""
        name = f"{self.admin_site.name}:{self.opts.app_label}_{self.opts.model_name}_lifecycle_fire"
        return reverse(name, args=[quote(record.pk), definition.name, transition.name])

    def record_url(self, record: Any) -> str:
        """The address of a record's page."""
        name = f"{self.admin_site.name}:{self.opts.app_label}_{self.opts.model_name}_change"
        return reverse(name, args=[quote(record.pk)])

    def render_change_form(
        self,
        request: HttpRequest,
        context: dict[str, Any],
        add: bool = False,
        change: bool = False,
        form_url: str = "",
        obj: Any = None,
    ) -> HttpResponse:
        """The page with the panel of every lifecycle."""
        if change and obj is not None and not context.get("is_popup"):
            context["lifecycle_panels"] = [panel(request, self, one, obj) for one in self.lifecycles()]
        drawn: HttpResponse = super().render_change_form(
            request, context, add=add, change=change, form_url=form_url, obj=obj
        )
        return drawn

    def fire_view(self, request: HttpRequest, object_id: str, lifecycle: str, transition: str) -> HttpResponse:
        """One transition's page; it changes nothing until it is posted."""
        definition = next((one for one in self.lifecycles() if one.name == lifecycle), None)
        edge = definition.transitions.get(transition) if definition is not None else None
        addresses.stand_on(request, self.admin_site)
        record = self.get_object(request, unquote(object_id))
        if definition is None or edge is None or not edge.manual or record is None:
            raise Http404(_("There is no such transition here."))
        if not self.has_view_or_change_permission(request, record):
            raise PermissionDenied
        return firing.respond(request, self, definition, edge, record)

    # Actions ----------------------------------------------------------------------------------------

    def get_actions(self, request: HttpRequest, action_location: Any = None) -> dict[str, Any]:
        """An action per manual transition this user might fire."""
        # Since Django 6.1 actions may also stand on a record's page, where our panel has a button for each.
        where = {} if action_location is None else {"action_location": action_location}
        actions: dict[str, Any] = dict(super().get_actions(request, **where))
        on_record = getattr(action_location, "name", "CHANGE_LIST") != "CHANGE_LIST"
        if on_record or not self.lifecycle_actions or "_popup" in request.GET:
            return actions
        for definition in self.lifecycles():
            for edge in definition.transitions.values():
                if edge.manual and bulk.might_fire(request, self, edge):
                    name = f"lifecycle:{definition.name}:{edge.name}"
                    actions[name] = (_action(definition, edge), name, str(edge.label))
        return actions

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        """The list; what an action's second page posts back comes in here, too."""
        addresses.stand_on(request, self.admin_site)
        if request.method == "POST" and bulk.CONFIRMED in request.POST:
            if not self.has_view_or_change_permission(request):
                raise PermissionDenied
            return bulk.confirmed(request, self)
        return super().changelist_view(request, extra_context)

    def refused_without_rows(self, request: HttpRequest, sentence: str) -> None:
        """Says that an action did nothing."""
        self.message_user(request, sentence, messages.ERROR)


def _action(definition: Definition, edge: CompiledTransition) -> Callable[..., HttpResponse | None]:
    def ask(page: LifecycleAdminMixin, request: HttpRequest, queryset: Any) -> HttpResponse | None:
        answer: HttpResponse | None = bulk.ask(request, page, definition, edge, queryset)
        return answer

    return ask


def _put(form: Any, error: LifecycleError) -> None:
    """An error's problems beside their fields, its reasons above the form; those of an added row above it all."""
    inline = error.facts.get("inline")
    if inline is not None:
        form.add_error(None, f"{inline}: {error}")
        return
    for problem in error.problems:
        name = problem.field if problem.field in form.fields else NON_FIELD_ERRORS
        text = str(problem.message) if name != NON_FIELD_ERRORS else str(problem)
        form.add_error(None if name == NON_FIELD_ERRORS else name, text)
    for refusal in error.refusals:
        form.add_error(None, str(refusal))
    if not error.problems and not error.refusals:
        form.add_error(None, str(error))
