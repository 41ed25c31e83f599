"""ProviderError: a no of the provider, with the code and HTTP status its clients see."""

from __future__ import annotations


class ProviderError(Exception):
    """An answer other than yes. ``code`` is stable, ``message`` is for people."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
