"""client.js in a browser, against the real endpoints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from lifecycle import SYSTEM
from lifecycle.models import OperatorAction, Run, TransitionLog
from lifecycle.runtime import fire, register_guard
from tests.support.models import Parcel, Ticket

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.django_db(transaction=True)]

Page = Callable[..., Any]

# What a call throws, as the page sees it.
CAUGHT = """const caught = async (call) => {
    try { await call(); return null; } catch (error) {
        return {kind: error.constructor.name, name: error.name, message: error.message, status: error.status,
                code: error.code, refusals: error.refusals, problems: error.problems, retryAfter: error.retryAfter,
                requestId: error.requestId, isOurs: error instanceof L.LifecycleError};
    }
};"""


def posts(page: Any) -> list[Any]:
    return [request for request in page.sent if request.method == "POST"]


def gets(page: Any) -> list[Any]:
    return [request for request in page.sent if request.method == "GET"]


# Seeing and doing --------------------------------------------------------------------------------


def test_it_describes_the_lifecycle(run: Page) -> None:
    assert run("return (await tickets.describe()).name") == "tickets"


def test_it_views_a_record(run: Page, ticket: Ticket) -> None:
    view = run("return await tickets.view(it)", ticket.pk)
    assert (view["state"], view["version"]) == ("open", 1)
    assert "touch" in [one["name"] for one in view["available"]]


def test_it_fires_with_the_csrf_token_of_the_cookie(run: Page, page: Any, ticket: Ticket) -> None:
    view = run("return await tickets.fire(it, 'ask', {note: 'Which one?'})", ticket.pk)
    assert (view["state"], view["replayed"], view["record"]["note"]) == ("waiting", False, "Which one?")
    cookie = next(one["value"] for one in page.context.cookies() if one["name"] == "csrftoken")
    assert posts(page)[0].headers["x-csrftoken"] == cookie


def test_a_uuid_is_an_id_too_and_any_id_is_encoded(run: Page, page: Any, parcel: Parcel) -> None:
    assert run("return (await parcels.view(it)).state", str(parcel.pk)) == "packed"
    caught = run(CAUGHT + "return await caught(() => tickets.view('../parcels/x?y#z'))")
    assert caught["kind"] == "NotFound"
    assert page.sent[-1].url.endswith("/api/tickets/..%2Fparcels%2Fx%3Fy%23z/lifecycle/")


def test_every_fire_has_a_key_of_its_own(run: Page, ticket: Ticket) -> None:
    run("await tickets.fire(it, 'touch'); await tickets.fire(it, 'touch')", ticket.pk)
    keys = list(TransitionLog.objects.filter(transition="touch").values_list("request_id", flat=True))
    assert len(set(keys)) == 2
    assert None not in keys


def test_a_fire_that_is_sent_again_under_its_key_is_done_once(run: Page, ticket: Ticket) -> None:
    code = """
        const key = {requestId: "click-1", expectVersion: null};
        const first = await tickets.fire(it, "touch", {}, key), second = await tickets.fire(it, "touch", {}, key);
        return [first.replayed, second.replayed];
    """
    assert run(code, ticket.pk) == [False, True]
    assert TransitionLog.objects.filter(transition="touch").count() == 1


def test_a_key_is_made_without_randomuuid_too(run: Page, ticket: Ticket) -> None:
    """Over plain HTTP from another machine there is none."""
    run("Object.defineProperty(crypto, 'randomUUID', {value: undefined}); await tickets.fire(it, 'touch')", ticket.pk)
    assert len(TransitionLog.objects.get(transition="touch").request_id) == 32


def test_an_operator_retries_continues_and_cancels(run: Page, parcel: Parcel) -> None:
    [pending] = fire(parcel, "send", actor=SYSTEM).runs
    it = {"id": str(parcel.pk), "run": pending.pk}
    view = run("return await parcels.cancel(it.id, it.run, {reason: 'Wrong one.'})", it)
    assert view["runs"][0]["status"] == "cancelled"
    assert run("return (await parcels.retry(it.id, it.run)).runs[0].status", it) == "queued"
    Run.objects.update(status="succeeded", outcome="succeeded", result={"label": "L-1"}, follow_up="abandoned", fence=1)
    assert run("return (await parcels.continue(it.id, it.run, {reason: 'Now.'})).state", it) == "sent"
    actions = OperatorAction.objects.order_by("id").values_list("action", "reason")
    assert list(actions) == [("cancel", "Wrong one."), ("retry", ""), ("continue", "Now.")]


# Stale pages -------------------------------------------------------------------------------------


def test_a_stale_page_is_a_conflict_and_is_never_sent_again_by_itself(run: Page, page: Any, ticket: Ticket) -> None:
    run("await tickets.view(it)", ticket.pk)
    fire(ticket, "touch", actor=SYSTEM)
    caught = run(CAUGHT + "return await caught(() => tickets.fire(it, 'ask'))", ticket.pk)
    assert (caught["kind"], caught["status"], caught["code"]) == ("Conflict", 409, "conflict")
    assert len(posts(page)) == 1
    ticket.refresh_from_db()
    assert (ticket.status, ticket.lifecycle_version) == ("open", 2)


def test_after_a_fire_the_version_it_made_is_expected(run: Page, page: Any, ticket: Ticket) -> None:
    run("await tickets.view(it); await tickets.fire(it, 'touch'); await tickets.fire(it, 'touch')", ticket.pk)
    assert [request.post_data_json["expect_version"] for request in posts(page)] == [1, 2]


def test_who_expects_nothing_may_say_so(run: Page, ticket: Ticket) -> None:
    run("await tickets.view(it)", ticket.pk)
    fire(ticket, "touch", actor=SYSTEM)
    assert run("return (await tickets.fire(it, 'touch', {}, {expectVersion: null})).version", ticket.pk) == 3


# Errors ------------------------------------------------------------------------------------------


def test_each_no_has_its_type(run: Page, ticket: Ticket) -> None:
    code = (
        CAUGHT
        + """
        await tickets.fire(it, "touch", {}, {requestId: "k"});
        return await Promise.all([
            caught(() => tickets.fire(it, "solve", {priority: 12})),
            caught(() => tickets.fire(it, "close")),
            caught(() => tickets.view(999999)),
            caught(() => tickets.fire(it, "reopen")),
            caught(() => tickets.fire(it, "ask", {}, {requestId: "k"})),
        ]);
    """
    )
    found = run(code, ticket.pk)
    assert [(one["kind"], one["status"], one["code"]) for one in found] == [
        ("InvalidInput", 400, "invalid_input"),
        ("Denied", 403, "not_manual"),
        ("NotFound", 404, "not_found"),
        ("Refused", 409, "invalid_state"),
        ("RequestReused", 422, "request_reused"),
    ]
    assert all(one["isOurs"] and one["name"] == one["kind"] and one["message"] for one in found)
    assert {problem["field"] for problem in found[0]["problems"]} == {"answer", "priority"}
    assert found[3]["refusals"][0]["params"] == {"transition": "reopen", "state": "open", "sources": ["solved"]}


def test_a_form_asks_an_error_for_one_fields_messages(run: Page, ticket: Ticket) -> None:
    code = "try { await tickets.fire(it, 'solve') } catch (error) { return [error.of('answer'), error.of('priority')] }"
    assert run(code, ticket.pk) == [["This field is required."], []]


def test_a_missing_csrf_cookie_is_a_denial(run: Page, page: Any, ticket: Ticket) -> None:
    page.context.clear_cookies(name="csrftoken")
    assert run(CAUGHT + "return (await caught(() => tickets.fire(it, 'ask'))).kind", ticket.pk) == "Denied"
    assert "x-csrftoken" not in posts(page)[0].headers


def test_too_many_requests_say_when_to_come_back(run: Page, page: Any, ticket: Ticket) -> None:
    page.route(
        "**/fire/", lambda route: route.fulfill(status=429, headers={"Retry-After": "7"}, json={"code": "throttled"})
    )
    caught = run(CAUGHT + "return await caught(() => tickets.fire(it, 'ask'))", ticket.pk)
    assert (caught["kind"], caught["retryAfter"]) == ("Throttled", 7)


@pytest.mark.parametrize("answer", ["none", "gateway"])
def test_a_lost_answer_leaves_the_key_to_send_again_with(run: Page, page: Any, ticket: Ticket, answer: str) -> None:
    """The fire was done; only its answer was lost."""

    def lose(route: Any) -> None:
        route.fetch()
        if answer == "none":
            route.abort()
        else:
            route.fulfill(status=502, body="<h1>Bad gateway</h1>")

    page.route("**/fire/", lose)
    caught = run(CAUGHT + "return await caught(() => tickets.fire(it, 'ask', {note: 'x'}))", ticket.pk)
    assert caught["kind"] == "Unreachable"
    page.unroute("**/fire/")
    code = "return await tickets.fire(it.id, 'ask', {note: 'x'}, {requestId: it.key})"
    view = run(code, {"id": ticket.pk, "key": caught["requestId"]})
    assert (view["state"], view["replayed"]) == ("waiting", True)
    assert TransitionLog.objects.filter(transition="ask").count() == 1


def test_an_answer_that_does_not_come_is_given_up(run: Page, page: Any, ticket: Ticket) -> None:
    page.route("**/lifecycle/", lambda route: None)
    code = CAUGHT + "return (await caught(() => L.lifecycle('/api/tickets/', {timeout: 100}).view(it))).kind"
    assert run(code, ticket.pk) == "Unreachable"


def test_an_answer_that_is_no_json_is_an_error(run: Page, page: Any, ticket: Ticket) -> None:
    page.route("**/lifecycle/", lambda route: route.fulfill(status=200, body="<h1>Log in</h1>"))
    assert run(CAUGHT + "return (await caught(() => tickets.view(it))).code", ticket.pk) == "not_json"


def test_the_token_is_shown_to_no_other_site(run: Page, page: Any) -> None:
    asked: list[Any] = []

    def answer(route: Any) -> None:
        asked.append(route.request)
        allowed = {"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Headers": "*"}
        route.fulfill(status=200, headers=allowed, json={"version": 1})

    page.route("http://elsewhere.test/**", answer)
    bare = {"body": "<title>no policy</title>", "content_type": "text/html"}  # the strict one lets nothing out at all
    page.route("**/bare/", lambda route: route.fulfill(**bare))
    page.goto("/bare/")
    page.evaluate(
        """async () => {
            const L = await import("/static/lifecycle/client.js");
            try { await L.lifecycle("http://elsewhere.test/api/").fire(1, "ask") } catch {}
        }"""
    )
    assert "POST" in {request.method for request in asked}
    for request in asked:
        assert "x-csrftoken" not in request.headers
        assert "x-csrftoken" not in request.headers.get("access-control-request-headers", "")


# Busy --------------------------------------------------------------------------------------------


def test_it_is_busy_while_a_operator_action_is_on_its_way(run: Page, ticket: Ticket) -> None:
    code = """
        const told = [];
        tickets.addEventListener("busy", () => told.push(tickets.busy));
        const before = tickets.busy;
        const actions = [tickets.fire(it, "touch"), tickets.fire(it, "nonsense").catch(() => null)];
        const during = tickets.busy;
        await Promise.all(actions);
        return [before, during, tickets.busy, told];
    """
    assert run(code, ticket.pk) == [False, True, False, [True, False]]


# Watching ----------------------------------------------------------------------------------------

WATCH = """
    window.seen = []; window.errors = [];
    window.stop = tickets.watch(it.id, (view) => seen.push(view.version), {
        every: it.every ?? 30, onError: (error) => errors.push(error.constructor.name),
    });
"""


def seen(page: Any, versions: list[int]) -> None:
    page.wait_for_function("versions => JSON.stringify(window.seen) === JSON.stringify(versions)", arg=versions)


def test_a_watch_tells_what_changes_and_only_that(run: Page, page: Any, ticket: Ticket) -> None:
    with page.expect_response(lambda response: response.status == 304):
        run(WATCH, {"id": ticket.pk})
    assert page.evaluate("seen") == [1]
    fire(ticket, "touch", actor=SYSTEM)
    seen(page, [1, 2])
    with page.expect_response(lambda response: response.status == 304):
        pass
    assert page.evaluate("seen") == [1, 2]
    assert page.evaluate("errors") == []
    run("stop()")


def test_a_watch_is_told_at_once_what_the_same_client_does(run: Page, page: Any, ticket: Ticket) -> None:
    run(WATCH, {"id": ticket.pk, "every": 60_000})
    seen(page, [1])
    run("await tickets.fire(it, 'touch')", ticket.pk)
    assert page.evaluate("seen") == [1, 2]
    assert len(gets(page)) == 1
    run("stop()")


def test_an_answer_that_was_overtaken_is_not_told(run: Page, page: Any, ticket: Ticket) -> None:
    """A poll that saw the record before the fire arrives after the fire's answer."""
    old = run("return await tickets.view(it)", ticket.pk)
    held: list[Any] = []
    page.route(f"**/tickets/{ticket.pk}/lifecycle/", lambda route: held.append(route))  # noqa: PLW0108 - Playwright marks what it is given
    with page.expect_request("**/lifecycle/"):
        run(WATCH, {"id": ticket.pk, "every": 60_000})
    run("await tickets.fire(it, 'touch')", ticket.pk)
    [route] = held
    route.fulfill(json=old)
    run("await tickets.describe(); stop()")  # whatever was on its way has come by now
    assert page.evaluate("seen") == [2]


def test_the_same_view_again_is_no_change(run: Page, page: Any, ticket: Ticket) -> None:
    """The server trusts no tag for long, and answers in full what the page has already."""
    view = run("return await tickets.view(it)", ticket.pk)
    stop_the_clock(page)
    page.route(f"**/tickets/{ticket.pk}/lifecycle/", lambda route: route.fulfill(json=view))
    run(WATCH, {"id": ticket.pk, "every": 1000})
    for _ in range(3):
        with page.expect_request_finished():
            page.clock.run_for(1000)
    run("await tickets.describe(); stop()")
    assert page.evaluate("seen") == [1]


def test_a_stopped_watch_asks_nothing_more(run: Page, page: Any, ticket: Ticket) -> None:
    stop_the_clock(page)
    run(WATCH, {"id": ticket.pk, "every": 1000})
    page.clock.run_for(1)
    seen(page, [1])
    run("stop()")
    fire(ticket, "touch", actor=SYSTEM)
    page.clock.run_for(60_000)
    assert (page.evaluate("seen"), len(gets(page))) == ([1], 1)


def test_two_watches_of_one_record_stop_by_themselves(run: Page, page: Any, ticket: Ticket) -> None:
    code = """
        window.one = []; window.two = [];
        const stop = tickets.watch(it, (view) => one.push(view.version), {every: 60000});
        window.stopTwo = tickets.watch(it, (view) => two.push(view.version), {every: 60000});
        await tickets.fire(it, "touch");
        stop();
        await tickets.fire(it, "touch");
        return [one, two].map((told) => told.filter((version) => version > 1));
    """
    assert run(code, ticket.pk) == [[2], [2, 3]]
    run("stopTwo()")


def stop_the_clock(page: Any) -> None:
    """From here on the page's time passes only by `page.clock.run_for`."""
    page.clock.install(time=0)
    page.clock.pause_at(1000)


def set_hidden(page: Any, hidden: bool) -> None:
    page.evaluate(
        """(hidden) => {
            Object.defineProperty(document, "visibilityState",
                {value: hidden ? "hidden" : "visible", configurable: true});
            document.dispatchEvent(new Event("visibilitychange"));
        }""",
        hidden,
    )


def test_a_hidden_page_asks_nothing_and_a_page_that_comes_back_asks_at_once(
    run: Page, page: Any, ticket: Ticket
) -> None:
    stop_the_clock(page)
    run(WATCH, {"id": ticket.pk, "every": 1000})
    page.clock.run_for(1)
    seen(page, [1])
    set_hidden(page, True)
    fire(ticket, "touch", actor=SYSTEM)
    page.clock.run_for(60_000)
    assert (page.evaluate("seen"), len(gets(page))) == ([1], 1)
    set_hidden(page, False)
    seen(page, [1, 2])
    run("stop()")


def test_a_page_that_opens_hidden_waits_until_it_is_seen(run: Page, page: Any, ticket: Ticket) -> None:
    stop_the_clock(page)
    set_hidden(page, True)
    run(WATCH, {"id": ticket.pk, "every": 1000})
    page.clock.run_for(60_000)
    assert gets(page) == []
    set_hidden(page, False)
    seen(page, [1])
    run("stop()")


def test_it_asks_ever_more_slowly_while_the_server_errs(run: Page, page: Any, ticket: Ticket) -> None:
    stop_the_clock(page)
    page.route("**/lifecycle/", lambda route: route.fulfill(status=503, body="down"))
    page.evaluate("Math.random = () => 0.5")  # the middle of the jitter
    run(WATCH, {"id": ticket.pk, "every": 1000})
    page.clock.run_for(1)
    for failures, wait in enumerate([2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000], start=1):
        page.wait_for_function("number => window.errors.length === number", arg=failures)
        page.clock.run_for(wait - 10)
        assert len(gets(page)) == failures
        page.clock.run_for(20)
        page.wait_for_function("number => window.errors.length === number", arg=failures + 1)
    page.unroute("**/lifecycle/")
    page.clock.run_for(60_000)
    seen(page, [1])
    fire(ticket, "touch", actor=SYSTEM)
    page.clock.run_for(1010)  # as fast as ever again
    seen(page, [1, 2])
    assert set(page.evaluate("errors")) == {"Unreachable"}
    run("stop()")


def test_a_watch_waits_as_long_as_the_server_asks(run: Page, page: Any, ticket: Ticket) -> None:
    stop_the_clock(page)
    page.route("**/lifecycle/", lambda route: route.fulfill(status=429, headers={"Retry-After": "300"}, json={}))
    run(WATCH, {"id": ticket.pk, "every": 1000})
    page.clock.run_for(1)
    page.wait_for_function("() => window.errors.length === 1")
    page.clock.run_for(299_000)
    assert len(gets(page)) == 1
    page.clock.run_for(2000)
    page.wait_for_function("() => window.errors.length === 2")
    run("stop()")


def test_a_watch_that_is_asked_to_wait_for_months_does_not_ask_at_once(run: Page, page: Any, ticket: Ticket) -> None:
    page.route("**/lifecycle/", lambda route: route.fulfill(status=429, headers={"Retry-After": "3000000"}, json={}))
    run(WATCH, {"id": ticket.pk})
    page.wait_for_function("() => window.errors.length === 1")
    run("await tickets.describe().catch(() => null)")  # time enough for another question
    run("await tickets.describe().catch(() => null); stop()")
    assert page.evaluate("errors.length") == 1


def test_a_record_that_is_gone_ends_its_watch(run: Page, page: Any, ticket: Ticket) -> None:
    stop_the_clock(page)
    run(WATCH, {"id": ticket.pk, "every": 1000})
    page.clock.run_for(1)
    seen(page, [1])
    Ticket.objects.update(title="Secret")  # out of the caller's scope
    page.clock.run_for(1010)
    page.wait_for_function("() => window.errors.length === 1")
    page.clock.run_for(300_000)
    assert page.evaluate("errors") == ["NotFound"]
    assert len(gets(page)) == 2


def test_a_page_that_cannot_draw_one_view_is_told_the_next(page: Any, run: Page, ticket: Ticket) -> None:
    code = """
        window.seen = []; window.reported = [];
        window.reportError = (error) => reported.push(error.message);
        window.stop = tickets.watch(it, (view) => {
            seen.push(view.version);
            if (view.version === 1) throw new Error("cannot draw");
        }, {every: 30});
    """
    run(code, ticket.pk)
    seen(page, [1])
    fire(ticket, "touch", actor=SYSTEM)
    seen(page, [1, 2])
    assert page.evaluate("reported") == ["cannot draw"]
    run("stop()")


def test_refusals_come_to_the_page_as_the_guards_gave_them(run: Page, ticket: Ticket, user: User) -> None:
    undo = register_guard("tickets", "touch", lambda ctx: "Not on a Sunday.")
    try:
        view = run("return await tickets.view(it)", ticket.pk)
        caught = run(CAUGHT + "return await caught(() => tickets.fire(it, 'touch'))", ticket.pk)
    finally:
        undo()
    shown = next(one for one in view["available"] if one["name"] == "touch")
    assert shown["refusals"] == caught["refusals"]
    assert caught["message"] == "Not on a Sunday."
