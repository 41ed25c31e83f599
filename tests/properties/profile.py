"""Profile: how long the machines look.

In the suite it is the same few examples each time: all of them on PostgreSQL, the stricter one, and the first of them
on SQLite. LIFECYCLE_PROPERTY_EXAMPLES=2000 looks for longer, with fresh randomness.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, Phase, settings

from tests.conftest import PASS

LONG = os.environ.get("LIFECYCLE_PROPERTY_EXAMPLES", "")
MINUTES = 0 if LONG else 10


def profile(*, examples: int, steps: int) -> settings:
    return settings(
        max_examples=int(LONG or (examples * 2 // 5 if PASS == "first" else examples)),
        stateful_step_count=steps * 3 // 2 if LONG else steps,
        derandomize=not LONG,
        database=None,
        deadline=None,
        print_blob=True,
        phases=list(Phase) if LONG else [Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
