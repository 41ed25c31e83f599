"""The pages of the how-to on browsers, as they stand there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lifecycle import SYSTEM
from lifecycle.runtime import fire
from tests.docs.pages import ROOT, blocks
from tests.support.models import Ticket

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.django_db(transaction=True)]

SHOWN = {block.title: block.text for block in blocks(ROOT / "docs" / "how-to" / "browser.md") if block.title}


@pytest.fixture
def show(page: Any, ticket: Ticket) -> Callable[..., None]:
    """Serves what the page shows, for tickets instead of orders."""

    def served(html: str, **files: str) -> None:
        def fitted(text: str) -> str:
            return text.replace("/api/orders/", "/api/tickets/").replace("17", str(ticket.pk))

        def serve(name: str, text: str, kind: str) -> None:
            policy = {"Content-Security-Policy": "default-src 'self'"}
            page.route(name, lambda route: route.fulfill(body=fitted(text), content_type=kind, headers=policy))

        serve("**/shown/", html, "text/html")
        for name, text in files.items():
            serve(f"**/shown/{name}.js", text, "text/javascript")
        page.goto("/shown/")

    return served


def test_the_plain_page_shows_fires_and_follows(page: Any, show: Callable[..., None], ticket: Ticket) -> None:
    show(SHOWN["order.html"], order=SHOWN["order.js"])
    page.get_by_role("heading", name="open").wait_for()
    escalate = page.get_by_role("button", name="Escalate")
    assert escalate.is_disabled()
    assert escalate.get_attribute("title")
    page.get_by_role("button", name="Ask the customer").click()
    page.get_by_role("heading", name="waiting").wait_for()
    fire(ticket, "reply", actor=SYSTEM)
    page.get_by_role("heading", name="open").wait_for()


def test_the_plain_page_tells_who_was_slower(page: Any, show: Callable[..., None], ticket: Ticket) -> None:
    show(SHOWN["order.html"], order=SHOWN["order.js"].replace("onError: explain", "onError: explain, every: 1e9"))
    page.get_by_role("heading", name="open").wait_for()
    fire(ticket, "touch", actor=SYSTEM)
    page.get_by_role("button", name="Ask the customer").click()
    page.get_by_text("Somebody was faster.").wait_for()
    ticket.refresh_from_db()
    assert ticket.status == "open"
    page.get_by_role("button", name="Ask the customer").click()  # the view is the new one: now it is meant
    page.get_by_role("heading", name="waiting").wait_for()


def test_the_htmx_page_is_drawn_anew_when_something_changes(
    page: Any, show: Callable[..., None], ticket: Ticket
) -> None:
    htmx = "window.drawn = []; window.htmx = {trigger: (...what) => drawn.push(what)};"
    html = '<script src="htmx.js"></script><script type="module" src="changes.js"></script>'
    show(html, htmx=htmx, changes=SHOWN["order-changes.js"])
    with page.expect_response("**/lifecycle/"):
        pass
    fire(ticket, "touch", actor=SYSTEM)
    page.wait_for_function("() => window.drawn.length === 1")
    assert page.evaluate("drawn") == [["#order", "changed"]]


def test_the_react_hook_starts_stops_and_never_mixes_records(page: Any, run: Callable[..., Any]) -> None:
    """With the two functions of React that it uses."""
    react = """
        let state, cleanup, render;
        export const useState = (first) => { state ??= first;
            return [state, (next) => { state = typeof next === "function" ? next(state) : next; }]; };
        export const useEffect = (effect) => { cleanup?.(); cleanup = effect(); };
        export const now = () => state, unmount = () => cleanup();
    """
    hook = SHOWN["useLifecycle.js"].replace('"react"', '"./react.js"')
    page.route("**/react.js", lambda route: route.fulfill(body=react, content_type="text/javascript"))
    page.route("**/hook.js", lambda route: route.fulfill(body=hook, content_type="text/javascript"))
    found = run(
        """
        const { useLifecycle } = await import("/page/hook.js"), { now, unmount } = await import("/page/react.js");
        const log = [], watched = {};
        const client = {
            watch: (id, callback, { onError }) => {
                watched[id] = { callback, onError };
                return () => log.push(`stop ${id}`);
            },
            fire: (...what) => log.push(what.join(" ")),
        };
        useLifecycle(client, 1);
        watched[1].callback({ state: "open" });
        const one = now();
        const { fire } = useLifecycle(client, 2);
        const two = now();
        watched[2].onError("no");
        fire("ask", "x");
        const three = now();
        unmount();
        return { one, two, three, log };
        """
    )
    assert found == {
        "one": {"view": {"state": "open"}},
        "two": {},
        "three": {"error": "no"},
        "log": ["stop 1", "2 ask x", "stop 2"],
    }
