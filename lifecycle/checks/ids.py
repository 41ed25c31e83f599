"""Check id: the stable name of everything that a check or a definition's rule may say, and its meaning."""

from __future__ import annotations

from typing import Final

TAG: Final = "lifecycle"

MEANINGS: Final = {
    # A declaration is wrong: raised at the end of the class statement, all at once, and checked again.
    "lifecycle.E001": "An option that does not exist.",
    "lifecycle.E002": "An option of the wrong type or out of its range.",
    "lifecycle.E003": "A name or code that cannot be stored: no identifier, or longer than its column.",
    "lifecycle.E004": "Meta lacks an option that has no default.",
    "lifecycle.E005": "One declared object stands under two names.",
    "lifecycle.E006": "An attribute has a name that Lifecycle itself uses.",
    "lifecycle.E007": "A subclass puts something else under the name of a base class's declaration.",
    "lifecycle.E008": "A function that cannot be called as it will be.",
    "lifecycle.E009": "Parameters is no frozen dataclass with defaults of storable types.",
    "lifecycle.E010": "The states cannot be read, or there are none.",
    "lifecycle.E011": "A state is listed twice.",
    "lifecycle.E012": "Meta.initial names no state.",
    "lifecycle.E013": "Meta.final names no state.",
    "lifecycle.E014": "Meta.states describes what is no state of the field.",
    "lifecycle.E015": "A state cannot be come to from any initial state.",
    "lifecycle.E016": "A state is not final, but nothing leaves it.",
    "lifecycle.E017": "A transition leaves a final state.",
    "lifecycle.E018": "A hook waits for a final state to be left.",
    "lifecycle.E019": "A deprecated state is entered by a transition or by birth.",
    "lifecycle.E020": "A transition has no source or no target.",
    "lifecycle.E021": "A transition names an unknown state.",
    "lifecycle.E022": "Several targets and no route.",
    "lifecycle.E023": "A route where there is nothing to choose, or several routes.",
    "lifecycle.E024": "accept names the record's key or a column that only the runtime writes.",
    "lifecycle.E025": "on_same='ok' on a transition with several targets.",
    "lifecycle.E026": "A guard, set, route, hook or effect names an unknown transition.",
    "lifecycle.E027": "A hook or effect names an unknown state.",
    "lifecycle.E030": "Two effects of one name.",
    "lifecycle.E031": "A transition or reminder names an unknown effect.",
    "lifecycle.E032": "A Retry that cannot be kept.",
    "lifecycle.E034": "An effect's lease cannot be kept, or its heartbeat_timeout limits nothing.",
    "lifecycle.E035": "An effect's follow-up is an unknown transition.",
    "lifecycle.E036": "An effect's follow-up cannot start where the record will be.",
    "lifecycle.E037": "No transition, state or reminder owes an effect.",
    "lifecycle.E040": "A timeout or deadline fires an unknown transition.",
    "lifecycle.E041": "A trigger waits in an unknown state, or in none.",
    "lifecycle.E042": "A timeout or deadline waits where its transition cannot start.",
    "lifecycle.E043": "after raises, or answers something else than a duration longer than zero.",
    "lifecycle.E045": "A reminder reminds in a final state.",
    # Owned columns of a model: said by the fields themselves.
    "lifecycle.E101": "An owned column stands on a model that is no LifecycleModel.",
    "lifecycle.E102": "A StateField without states, or with a default that is none of them.",
    "lifecycle.E103": "A ChangedAtField or VersionField without its StateField.",
    "lifecycle.E104": "A StateField without its ChangedAtField or VersionField.",
    # A definition does not fit its model.
    "lifecycle.E105": "An owned column of the definition is missing on the model, or of the wrong kind.",
    "lifecycle.E106": "The states and the choices of the state field differ.",
    "lifecycle.E107": "accept names what is no editable column of the record.",
    "lifecycle.E108": "The record's key does not fit into the history.",
    "lifecycle.E109": "A dotted path cannot be imported.",
    "lifecycle.E110": "A deadline's date is no date of the record.",
    "lifecycle.E111": "Two lifecycles of one model share a column or an accessor.",
    "lifecycle.W101": "Timeouts without an index on the state and the time it changed.",
    "lifecycle.W102": "A permission that no installed model declares.",
    # Databases and settings.
    "lifecycle.E120": "SQLite without transaction_mode IMMEDIATE.",
    "lifecycle.E121": "Record, history and effect runs are written to different databases.",
    "lifecycle.W120": "SQLite without WAL.",
    "lifecycle.W121": "SQLite with a timeout shorter than 5 seconds.",
    "lifecycle.W122": "MySQL or MariaDB with another isolation level than READ COMMITTED.",
    "lifecycle.E130": "settings.LIFECYCLE is invalid.",
    "lifecycle.E131": "The dispatcher cannot be imported.",
    "lifecycle.W130": "Celery ends tasks before an effect's own timeout would.",
}
