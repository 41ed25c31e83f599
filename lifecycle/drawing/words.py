"""Word: the texts the drawing adds to a lifecycle's own, in the active language where there is one."""

from __future__ import annotations

from collections.abc import Sequence


def gettext(text: str) -> str:
    """A text in the active language; as it stands in a process that has no settings."""
    from django.conf import settings

    if not settings.configured:
        return text
    from django.utils import translation

    return translation.gettext(text)


def any_state() -> str:
    return gettext("Any state")


def any_state_except(names: Sequence[str]) -> str:
    return gettext("Any state except %(states)s") % {"states": ", ".join(names)}


def any_of(count: int) -> str:
    return gettext("Any of %(count)s states") % {"count": count}


def drawn_elsewhere(state: str) -> str:
    return gettext("%(state)s is drawn elsewhere in this picture") % {"state": state}


def elsewhere() -> str:
    return gettext("drawn elsewhere in the picture")


def title(name: str) -> str:
    return gettext("%(name)s: states and transitions") % {"name": name[:1].upper() + name[1:]}


def size(states: int, transitions: int) -> str:
    return gettext("%(states)s states, %(transitions)s transitions.") % {"states": states, "transitions": transitions}


def now_in(state: str) -> str:
    return gettext("Now in %(state)s.") % {"state": state}


def path(steps: Sequence[str]) -> str:
    return gettext("Path: %(steps)s.") % {"steps": ", ".join(steps)}


def step(version: int, transition: str, target: str) -> str:
    said = {"version": version, "transition": transition, "state": target}
    return gettext("%(version)s %(transition)s to %(state)s") % said


def created() -> str:
    return gettext("Created")


def records(counts: Sequence[str]) -> str:
    return gettext("Records: %(counts)s.") % {"counts": ", ".join(counts)}


def oldest(stay: str) -> str:
    return gettext("oldest %(stay)s") % {"stay": stay}


def to(transition: str, state: str) -> str:
    return gettext("%(transition)s to %(state)s") % {"transition": transition, "state": state}


def by_time() -> str:
    return gettext("by time")


def only_the_system() -> str:
    return gettext("only the system")


def open_now() -> str:
    return gettext("open now")


def initial() -> str:
    return gettext("initial")


def final() -> str:
    return gettext("final")


def current() -> str:
    return gettext("now")


def path_taken() -> str:
    return gettext("path taken, numbered by version")


def possible_from_here() -> str:
    return gettext("possible from here")


def people_may() -> str:
    return gettext("people may do it")


def no_outline() -> str:
    return gettext("no outline: only the system")


def something_late() -> str:
    return gettext("something is late")
