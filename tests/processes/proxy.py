"""Proxy: a database's address that may fall silent, as behind a firewall that forgot its connections."""

from __future__ import annotations

import contextlib
import select
import socket
import threading
from typing import Any, Self


class Proxy:
    """Forwards what is sent to its port until it falls silent; then it takes everything and answers nothing."""

    def __init__(self, database: dict[str, Any]) -> None:
        self._host, self._port = str(database["HOST"]), int(database["PORT"])
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._silent = threading.Event()
        self._other: dict[socket.socket, socket.socket] = {}
        self._over, self._wake = socket.socketpair()
        self._thread = threading.Thread(target=self._forward, daemon=True)

    @property
    def connections(self) -> int:
        """How many were taken and are not closed."""
        return len(self._other) // 2

    def fall_silent(self) -> None:
        self._silent.set()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._wake.close()
        self._thread.join()
        for end in (self._listening, self._over, *self._other):
            end.close()

    def _forward(self) -> None:
        while True:
            readable = select.select([self._listening, self._over, *self._other], [], [])[0]
            if self._over in readable:
                return
            for end in readable:
                if end is self._listening:
                    self._take()
                elif end in self._other:
                    self._pass_on(end)

    def _take(self) -> None:
        near, far = self._listening.accept()[0], self._connect()
        self._other |= {near: far, far: near}

    def _connect(self) -> socket.socket:
        if not self._host.startswith("/"):
            return socket.create_connection((self._host, self._port))
        made = socket.socket(socket.AF_UNIX)
        made.connect(f"{self._host}/.s.PGSQL.{self._port}")
        return made

    def _pass_on(self, end: socket.socket) -> None:
        data = b""
        with contextlib.suppress(ConnectionError):
            data = end.recv(65536)
        if not data:
            for one in (end, self._other.pop(end)):
                self._other.pop(one, None)
                one.close()
        elif not self._silent.is_set():
            with contextlib.suppress(ConnectionError):
                self._other[end].sendall(data)
