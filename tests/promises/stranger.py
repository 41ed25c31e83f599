"""A process that leaves everything undone and ends: python -m tests.promises.stranger DATABASE."""

from __future__ import annotations

import os
import sys

import django


def main(database: str) -> None:
    django.setup()
    from django.db import connections

    connections["default"].settings_dict["NAME"] = database

    from lifecycle import SYSTEM
    from lifecycle.runtime import create, fire
    from lifecycle.store import claims
    from lifecycle.store.claims import Wanted
    from lifecycle.testing import fail_effect, run_due
    from tests.support.models import Parcel, Ticket

    # A timeout and a reminder that wait.
    fire(create(Ticket(title="solved"), actor=SYSTEM), "solve", actor=SYSTEM, input={"answer": "x"})
    fire(create(Ticket(title="asked"), actor=SYSTEM), "ask", actor=SYSTEM)
    # An attempt that failed and is to be repeated.
    fire(create(Parcel(label="retried"), actor=SYSTEM), "send", actor=SYSTEM)
    with fail_effect("print_label"):
        run_due()
    # A run that nobody was woken for, and one in the hands of a worker that is about to die: this one.
    fire(create(Parcel(label="held"), actor=SYSTEM), "send", actor=SYSTEM)
    claims.for_alias("default").claim(Wanted(queue="default", worker="the stranger"))
    fire(create(Parcel(label="pending"), actor=SYSTEM), "send", actor=SYSTEM)
    os._exit(77)


if __name__ == "__main__":
    main(sys.argv[1])
