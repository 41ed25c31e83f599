"""Money: an amount in cents as people read it."""

from __future__ import annotations

SYMBOLS = {"EUR": "€", "USD": "$", "GBP": "£"}


def money(cents: int, currency: str) -> str:
    """``4800, "EUR"`` → ``€48.00``; a currency without a known symbol is written after the number."""
    number = f"{cents // 100:,}.{cents % 100:02d}"
    symbol = SYMBOLS.get(currency)
    return f"{symbol}{number}" if symbol else f"{number} {currency}"
