"""Transport: kombu's filesystem broker with its two defects mended, so that the demo needs no server.

Select it with ``broker_transport = "example_project.localbroker:Transport"``.
"""

from __future__ import annotations

import uuid
from pathlib import Path
from time import monotonic
from typing import Any

from kombu.transport import filesystem
from kombu.utils.encoding import str_to_bytes
from kombu.utils.json import dumps

LONGEST_POLL = 0.2  # seconds; the stock transport looks for a stop every 2 s, twice


class Channel(filesystem.Channel):
    """Writes a message under another name first: the stock one may be read while empty, which kills the reader."""

    # kombu's own two bases name this argument differently; it is passed by place.
    def _put(self, queue: str, payload: Any, **kwargs: Any) -> None:  # type: ignore[override]
        name = f"{round(monotonic() * 1000):015d}_{uuid.uuid4()}.{queue}.msg"
        folder = Path(self.data_folder_out)
        part = folder / f".{name}"  # begins with a dot: no queue's name matches it
        part.write_bytes(str_to_bytes(dumps(payload)))
        part.replace(folder / name)


class Transport(filesystem.Transport):
    """Looks up often enough for a worker to stop within half a second."""

    Channel = Channel

    def drain_events(self, connection: Any, timeout: float | None = None, **kwargs: Any) -> Any:
        longest = LONGEST_POLL if timeout is None else min(timeout, LONGEST_POLL)
        return super().drain_events(connection, timeout=longest)
