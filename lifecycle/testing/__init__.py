"""The test kit: time, failures, states and assertions for tests of lifecycles.

With pytest: ``pytest_plugins = ["lifecycle.testing.plugin"]`` gives the fixture ``lifecycle``. With unittest:
`LifecycleTestMixin`. Or import the functions from here.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lifecycle.models.writes import bypass
    from lifecycle.testing.arrangements import Arrangement, reset
    from lifecycle.testing.assertions import assert_history, assert_nothing_pending, assert_pending, assert_refused
    from lifecycle.testing.draining import run_due, tick
    from lifecycle.testing.factories import LifecycleFactoryMixin
    from lifecycle.testing.failing import MadeToFail, fail_effect
    from lifecycle.testing.kit import Kit
    from lifecycle.testing.mixin import LifecycleTestMixin
    from lifecycle.testing.racing import Finish, meeting, race
    from lifecycle.testing.replacing import use_services
    from lifecycle.testing.statements import assert_statements
    from lifecycle.testing.states import create_in_state, force_state
    from lifecycle.testing.travelling import travel
    from lifecycle.testing.walking import Walk, walk

__all__ = [
    "Arrangement",
    "Finish",
    "Kit",
    "LifecycleFactoryMixin",
    "LifecycleTestMixin",
    "MadeToFail",
    "Walk",
    "assert_history",
    "assert_nothing_pending",
    "assert_pending",
    "assert_refused",
    "assert_statements",
    "bypass",
    "create_in_state",
    "fail_effect",
    "force_state",
    "meeting",
    "race",
    "reset",
    "run_due",
    "tick",
    "travel",
    "use_services",
    "walk",
]

# pytest loads the plugin, and with it this package, before Django is set up: a name is fetched when first asked for.
_HOMES = {
    "lifecycle.models.writes": ("bypass",),
    "lifecycle.testing.arrangements": ("Arrangement", "reset"),
    "lifecycle.testing.assertions": ("assert_history", "assert_nothing_pending", "assert_pending", "assert_refused"),
    "lifecycle.testing.draining": ("run_due", "tick"),
    "lifecycle.testing.factories": ("LifecycleFactoryMixin",),
    "lifecycle.testing.failing": ("MadeToFail", "fail_effect"),
    "lifecycle.testing.kit": ("Kit",),
    "lifecycle.testing.mixin": ("LifecycleTestMixin",),
    "lifecycle.testing.racing": ("Finish", "meeting", "race"),
    "lifecycle.testing.replacing": ("use_services",),
    "lifecycle.testing.states": ("create_in_state", "force_state"),
    "lifecycle.testing.statements": ("assert_statements",),
    "lifecycle.testing.travelling": ("travel",),
    "lifecycle.testing.walking": ("Walk", "walk"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(home), name)
