"""The declaration is the table of the design, line by line."""

from __future__ import annotations

import ast
from datetime import timedelta
from pathlib import Path

import pytest

from orders.lifecycles import OrderLifecycle, StrayPaymentLifecycle

pytestmark = pytest.mark.once

ORDERS = Path(__file__).parents[2] / "orders"
SHOP = [path for path in sorted(ORDERS.rglob("*.py")) if not {"sandbox", "migrations"} & {*path.parts}]

# name: manual, sources, target, accepted fields
TABLE = {
    "checkout": (True, "draft payment_failed", "creating_checkout", ""),
    "checkout_created": (False, "creating_checkout", "awaiting_payment", "payment_session_id checkout_url"),
    "checkout_failed": (False, "creating_checkout", "payment_failed", ""),
    "payment_succeeded": (False, "creating_checkout awaiting_payment payment_failed", "paid", "payment_ref"),
    "payment_declined": (False, "creating_checkout awaiting_payment", "payment_failed", ""),
    "paid_after_cancel": (False, "cancelled", "refunding", "payment_ref"),
    "cancel": (True, "draft awaiting_payment payment_failed", "cancelled", ""),
    "expire": (False, "awaiting_payment payment_failed", "cancelled", ""),
    "ship": (True, "paid", "fulfilled", "carrier tracking_number"),
    "refund_order": (True, "paid", "refunding", ""),
    "refunded": (False, "refunding", "refunded", "refund_ref"),
    "refund_failed": (False, "refunding", "refund_needs_attention", ""),
    "retry_refund": (True, "refund_needs_attention", "refunding", ""),
}

EFFECTS = {
    "orders.create_checkout": (3, 2, 10, 10, "checkout_created", "checkout_failed"),
    "orders.close_checkout": (5, 2, 30, 10, None, None),
    "orders.refund": (3, 2, 10, 10, "refunded", "refund_failed"),
}


def test_the_transitions_are_those_of_the_table_and_no_others() -> None:
    declared = {
        name: (edge.manual, " ".join(sorted(edge.sources)), edge.target, " ".join(edge.accept))
        for name, edge in OrderLifecycle.definition.transitions.items()
    }
    assert declared == {
        name: (manual, " ".join(sorted(sources.split())), target, accept)
        for name, (manual, sources, target, accept) in TABLE.items()
    }


def test_the_effects_retry_and_follow_up_as_the_table_says() -> None:
    declared = {
        name: (
            effect.retry.attempts,
            effect.retry.backoff.total_seconds(),
            effect.retry.maximum.total_seconds(),
            effect.timeout.total_seconds(),
            effect.on_success,
            effect.on_failure,
        )
        for name, effect in OrderLifecycle.definition.effects.items()
    }
    assert declared == EFFECTS


def test_cancelled_is_not_final_so_that_late_money_finds_a_way_back() -> None:
    assert OrderLifecycle.definition.final == {"fulfilled", "refunded"}
    assert StrayPaymentLifecycle.definition.final == {"refunded"}


def test_an_unpaid_order_expires_after_the_payment_window() -> None:
    timeout = OrderLifecycle.definition.timeouts["expire_unpaid"]
    assert (timeout.transition, set(timeout.when)) == ("expire", {"awaiting_payment", "payment_failed"})
    assert timeout.after(OrderLifecycle.Parameters()) == timedelta(minutes=3)


@pytest.mark.parametrize("path", SHOP, ids=lambda path: path.relative_to(ORDERS).as_posix())
def test_the_shop_knows_the_provider_by_http_only(path: Path) -> None:
    assert not [name for name in _imported(path) if name.startswith("orders.sandbox")]


def test_what_is_taken_home_is_seen_at_a_glance() -> None:
    names = sorted(path.name for path in ORDERS.glob("*.py"))
    assert len(names) <= 12, f"{names}: pages and their helpers live in orders/web/"


@pytest.mark.parametrize("path", SHOP, ids=lambda path: path.relative_to(ORDERS).as_posix())
def test_a_function_that_is_given_a_context_says_which(path: Path) -> None:
    vague = [
        f"{function.name}, line {function.lineno}"
        for function in ast.walk(ast.parse(path.read_text()))
        if isinstance(function, ast.FunctionDef)
        for argument in function.args.args
        if argument.arg == "ctx" and "Context" not in ast.unparse(argument.annotation or ast.Constant(None))
    ]
    assert vague == []


@pytest.mark.parametrize("path", sorted((ORDERS / "sandbox").glob("*.py")), ids=lambda path: path.name)
def test_the_provider_knows_nothing_of_the_shop_nor_of_the_library(path: Path) -> None:
    foreign = [
        n for n in _imported(path) if n.startswith(("orders", "lifecycle")) and not n.startswith("orders.sandbox")
    ]
    assert foreign == []


@pytest.mark.parametrize(
    "path", [*ORDERS.glob("migrations/0*.py"), *ORDERS.glob("sandbox/migrations/0*.py")], ids=lambda path: path.name
)
def test_migrations_mention_nothing_of_the_library(path: Path) -> None:
    assert not [name for name in _imported(path) if name.startswith("lifecycle")]


def _imported(path: Path) -> list[str]:
    names = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return names
