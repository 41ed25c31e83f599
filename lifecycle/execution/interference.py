"""Interference: what a test does to an effect right before its code runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lifecycle.definition.compiled import CompiledEffect, Definition

# Set by the test kit only; what it raises counts as raised by the effect.
before: Callable[[Definition, CompiledEffect, Any], None] | None = None
