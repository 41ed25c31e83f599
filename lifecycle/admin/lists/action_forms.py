"""ActionForm: what a list's actions ask for besides the rows — a reason, and whether to use force."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib.admin import helpers
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy

if TYPE_CHECKING:
    Base = forms.Widget
else:
    Base = object


class Labelled(Base):
    """A widget with its own label around it: some admin themes draw the fields of an action form without theirs."""

    def __init__(self, said: Any, attrs: dict[str, Any] | None = None) -> None:
        super().__init__(attrs)
        self.said = said

    def render(self, *args: Any, **kwargs: Any) -> SafeString:
        """The label, then the control."""
        return format_html('<label class="lc-asked">{} {}</label>', self.said, super().render(*args, **kwargs))


class LabelledText(Labelled, forms.TextInput):
    pass


class LabelledCheckbox(Labelled, forms.CheckboxInput):
    pass


class ReasonForm(helpers.ActionForm):
    """The action select of a list, with the reason that is kept with the operator's name."""

    reason = forms.CharField(
        label="",
        required=False,
        widget=LabelledText(
            gettext_lazy("Reason"), attrs={"size": 34, "placeholder": gettext_lazy("why, for the record")}
        ),
    )


class ForceForm(ReasonForm):
    """The same, for operator actions that may be forced."""

    force = forms.BooleanField(label="", required=False, widget=LabelledCheckbox(gettext_lazy("Force")))
