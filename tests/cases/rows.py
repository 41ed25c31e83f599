"""The rows that use has found: each has at least one test marked `row("A1")`, in the file of its section."""

from __future__ import annotations

SECTIONS = {
    "test_said_and_done.py": [f"A{number}" for number in range(1, 8)],
    "test_whose_row.py": [f"B{number}" for number in range(1, 4)],
    "test_lives.py": [f"C{number}" for number in range(1, 9)],
    "test_readable_input.py": [f"D{number}" for number in range(1, 13)],
    "test_requests.py": [f"E{number}" for number in range(1, 6)],
    "test_edits.py": [f"F{number}" for number in range(1, 8)],
    "test_workers_day.py": [f"G{number}" for number in range(1, 14)],
    "test_passing_time.py": [f"H{number}" for number in range(1, 10)],
    "test_diagrams.py": ["J10"],
    "test_small_things.py": [f"K{number}" for number in range(1, 23)],
    "test_own_projects.py": [f"L{number}" for number in range(1, 16)],
    "test_neighbours.py": [f"M{number}" for number in range(1, 19)],
}
