"""Records of the cases, one file per section."""

from tests.cases.models import (
    bad_parameters,
    diagrams,
    edits,
    folders,
    inlines,
    lives,
    neighbours,
    own_projects,
    passing_time,
    readable_input,
    requests,
    said_and_done,
    small_things,
    whose_row,
    worker_traces,
    workers_day,
)

__all__ = [
    "bad_parameters",
    "diagrams",
    "edits",
    "folders",
    "inlines",
    "lives",
    "neighbours",
    "own_projects",
    "passing_time",
    "readable_input",
    "requests",
    "said_and_done",
    "small_things",
    "whose_row",
    "worker_traces",
    "workers_day",
]
