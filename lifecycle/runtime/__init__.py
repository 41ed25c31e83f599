"""The verbs: create, fire, fire_many, can, available, view — and their async twins."""

from lifecycle.runtime.added_guards import register_guard
from lifecycle.runtime.asking import available, can, parameters
from lifecycle.runtime.asynchronous import aavailable, acan, acreate, afire, afire_many, aview
from lifecycle.runtime.batch import fire_many
from lifecycle.runtime.creation import create
from lifecycle.runtime.firing import fire
from lifecycle.runtime.results import Availability, BatchRefusal, BatchReport, Fired, RecordView
from lifecycle.runtime.touching import touch
from lifecycle.runtime.viewing import view

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
