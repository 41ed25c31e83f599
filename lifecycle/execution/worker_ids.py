"""Worker id: the name under which a process claims runs."""

from __future__ import annotations

import os
import secrets
import socket

_worker: str | None = None


def worker_id() -> str:
    """The process that claims: host, number, and what tells two of one name apart. Each drain in it has its own number
    behind that, so that it finds what it holds.
    """
    global _worker  # noqa: PLW0603 one name per process, forgotten after a fork
    if _worker is None:
        _worker = f"{socket.gethostname()[:100]}:{os.getpid()}:{secrets.token_hex(4)}"
    return _worker


def _forget_after_fork() -> None:
    global _worker  # noqa: PLW0603 see worker_id
    _worker = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)
