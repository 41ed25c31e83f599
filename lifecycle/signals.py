"""Signals: what happened, told after the commit; best effort — what must happen is an effect.

All are sent with ``send_robust`` once the outermost transaction is committed, in the order of the entries; the sender
is the record's model class.

``transition_committed``: ``record, entry, lifecycle, transition, source, target, actor`` — once per transition and
creation.
``state_entered``: the same arguments — once per state entered (self-transitions included).
``transition_available``: ``record, entry, lifecycle, transition`` — once per manual transition the new state allows.
``transition_refused``: ``lifecycle, record_id, transition, actor, error`` — somebody fired and was refused; ``error``
is the `Refused` raised to them. A refused creation is ``$create`` and has no ``record_id``. Sent at once, for a
refusal has nothing to commit; a timeout or deadline that is refused is a `TriggerHold`, not a signal.
``follow_up_refused``: ``lifecycle, record_id, run_id, transition, error, reason, tries, abandoned`` — an outcome is
recorded and its transition is not: it waits for another try, or is abandoned.
``attempt_failed``: ``lifecycle, record_id, run_id, effect, error, reason, again, expected`` — a start of a run raised
``error``; ``again``: it will be called again; ``expected``: it said no by `Fail`, and a transition follows from that.
``run_finished``: ``run, lifecycle, record_id`` — a run reached an outcome.
``run_dead``: ``run, lifecycle, record_id`` — every start of a run crashed.
"""

from __future__ import annotations

from django.dispatch import Signal

transition_committed = Signal()
state_entered = Signal()
transition_available = Signal()
transition_refused = Signal()
follow_up_refused = Signal()
attempt_failed = Signal()
run_finished = Signal()
run_dead = Signal()
