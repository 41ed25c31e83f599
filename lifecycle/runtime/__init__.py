"""The verbs: create, fire, fire_many, can, available, view — and their async twins."""

from lifecycle.runtime.deciding.added_guards import register_guard
from lifecycle.runtime.results import Availability, BatchRefusal, BatchReport, Fired, RecordView
from lifecycle.runtime.verbs.asking import available, can, parameters
from lifecycle.runtime.verbs.asynchronous import aavailable, acan, acreate, afire, afire_many, aview
from lifecycle.runtime.verbs.batch import fire_many
from lifecycle.runtime.verbs.creation import create
from lifecycle.runtime.verbs.firing import fire
from lifecycle.runtime.verbs.touching import touch
from lifecycle.runtime.verbs.viewing import view

__all__ = [
    "Availability",
    "BatchRefusal",
    "BatchReport",
    "Fired",
    "RecordView",
    "aavailable",
    "acan",
    "acreate",
    "afire",
    "afire_many",
    "available",
    "aview",
    "can",
    "create",
    "fire",
    "fire_many",
    "parameters",
    "register_guard",
    "touch",
    "view",
]
