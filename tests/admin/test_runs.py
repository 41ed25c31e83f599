"""The pages of effect runs: what needs a person, why, and what a person may do about it."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from lifecycle import Retry, clock
from lifecycle.admin.runs.page import stamp
from lifecycle.models import OperatorAction, Run, RunAttempt
from orders.models import Order
from orders.payments import ProviderUnavailable
from tests.admin.story import Story
from tests.admin.test_records import text

pytestmark = pytest.mark.django_db

LIST = "/admin/lifecycle/run/"


@pytest.fixture
def browser(story: Story, browser_of: Callable[[Any], Client]) -> Client:
    return browser_of(story.operator())


def address(run: Run) -> str:
    return f"{LIST}{run.pk}/change/"


def operator_action(run: Run, name: str, **data: Any) -> dict[str, Any]:
    """The form of a page drawn now."""
    run.refresh_from_db()
    return {"operator_action": name, "seen": stamp(run), "reason": "", **data}


def numbers(response: Any) -> list[int]:
    return [int(one) for one in re.findall(r'name="_selected_action" value="(\d+)"', response.content.decode())]


def leased(run: Run, minutes: float = 5) -> Run:
    now = clock.now()
    until = now + dt.timedelta(minutes=minutes)
    Run.objects.filter(pk=run.pk).update(
        status="running", leased_by="worker-2", lease_until=until, started_at=now, fence=7
    )
    run.refresh_from_db()
    return run


# The list ---------------------------------------------------------------------------------------


def test_what_needs_a_person_is_counted_above_the_list_and_comes_first(story: Story, browser: Client) -> None:
    well = story.paid()
    failed = story.run_of(story.refund_declined(), "orders.refund")
    waiting = story.run_of(story.follow_up_refused(), "orders.refund")
    abandoned = story.run_of(story.follow_up_refused(times=10), "orders.refund")
    waiting.refresh_from_db()
    Run.objects.filter(pk=waiting.pk).update(follow_up="pending", follow_up_tries=3)
    dead = story.run_of(story.queued(), "orders.create_checkout")
    Run.objects.filter(pk=dead.pk).update(status="dead", crashes=3, error_code="worker_lost", outcome="dead")
    response = browser.get(LIST)
    html = response.content.decode()
    said = text(response)
    assert "4 need a person: 1 follow-up abandoned 1 dead 1 failed 1 follow-up waiting" in said
    for query in ("status=attention", "follow_up=abandoned", "status=dead", "status=failed", "follow_up=pending"):
        assert f'href="?{query}"' in html
    assert numbers(response)[:4] == [abandoned.pk, waiting.pk, dead.pk, failed.pk]
    assert story.run_of(well, "orders.create_checkout").pk in numbers(response)[4:]
    assert numbers(browser.get(f"{LIST}?status=attention")) == [abandoned.pk, waiting.pk, dead.pk, failed.pk]
    assert "worker_lost 3 starts never reported back." in said
    assert "card_closed The card was closed It has moved the record: Refund failed." in said
    assert "Refunded is refused: The accounting day is being closed." in said
    assert "Refused 10 times; it waits for a person now" in said
    assert re.search(r"Tried 3 times of 10, again at ", said)


def test_an_empty_list_says_that_nothing_needs_a_person(story: Story, browser: Client) -> None:
    assert "Nothing needs a person." in text(browser.get(LIST))


def test_runs_are_found_by_record_number_and_error_code(story: Story, browser: Client) -> None:
    first, second = story.refund_declined(), story.paid()
    refund = story.run_of(first, "orders.refund")
    assert set(numbers(browser.get(f"{LIST}?q={second.pk}"))) >= {story.run_of(second, "orders.create_checkout").pk}
    assert numbers(browser.get(f"{LIST}?q=%23{refund.pk}")) == [refund.pk]
    assert numbers(browser.get(f"{LIST}?q=CARD_closed")) == [refund.pk]
    assert numbers(browser.get(f"{LIST}?q=nothing")) == []
    assert browser.get(f"{LIST}?q=%00").status_code == 200
    assert browser.get(f"{LIST}?q={'9' * 40}").status_code == 200


def test_runs_are_filtered_by_lifecycle_effect_status_follow_up_and_age(story: Story, browser: Client) -> None:
    order = story.refund_declined()
    refund, checkout = story.run_of(order, "orders.refund"), story.run_of(order, "orders.create_checkout")
    unknown = story.run_of(story.queued(), "orders.create_checkout")
    Run.objects.filter(pk=unknown.pk).update(effect="orders.gone")
    Run.objects.filter(pk=refund.pk).update(created_at=clock.now() - dt.timedelta(days=2))
    assert numbers(browser.get(f"{LIST}?status=failed")) == [refund.pk]
    assert numbers(browser.get(f"{LIST}?effect=orders.create_checkout")) == [checkout.pk]
    assert numbers(browser.get(f"{LIST}?effect=-")) == [unknown.pk]
    assert numbers(browser.get(f"{LIST}?lifecycle=tickets")) == []
    assert len(numbers(browser.get(f"{LIST}?lifecycle=orders"))) == 3
    assert numbers(browser.get(f"{LIST}?follow_up=none")) == [unknown.pk]
    assert numbers(browser.get(f"{LIST}?age=day")) == [refund.pk]
    assert len(numbers(browser.get(f"{LIST}?status=nonsense&age=nonsense"))) == 3
    Run.objects.filter(pk=unknown.pk).update(lifecycle="gone")
    assert numbers(browser.get(f"{LIST}?lifecycle=-")) == [unknown.pk]
    assert browser.get(address(unknown)).status_code == 200


def test_the_list_costs_the_same_queries_however_many_rows(story: Story, browser: Client) -> None:
    def cost() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert browser.get(LIST).status_code == 200
        return len(queries)

    story.refund_failed()
    browser.get(LIST)
    before = cost()
    for _ in range(4):
        story.refund_declined()
        story.queued()
    assert cost() == before


def test_a_record_is_named_only_for_those_who_may_see_it(
    story: Story, browser_of: Callable[[Any], Client], settings: Any
) -> None:
    order = story.paid()
    runs_only = browser_of(story.person("rita", "lifecycle.view_run"))
    html = runs_only.get(LIST).content.decode()
    assert f"/admin/orders/order/{order.pk}/change/" not in html
    assert f"order {order.pk}" in text(runs_only.get(LIST))


# One run ----------------------------------------------------------------------------------------


def test_a_failed_run_tells_each_attempt_with_its_traceback_and_who_enqueued_it(story: Story, browser: Client) -> None:
    order = story.refunding()
    story.payments.trouble = [RuntimeError("502 Bad gateway")] * 3
    story.kit.run_due(retries=True)
    run = story.run_of(order, "orders.refund")
    response = browser.get(address(run))
    said = text(response)
    assert "“orders.refund” has failed for good. RuntimeError: 502 Bad gateway" in said
    assert "Attempts: 3 of 3" in said
    assert said.count("502 Bad gateway") >= 4
    assert response.content.decode().count("<summary>Traceback</summary>") == 3
    assert "version 5, Refund order, by ben at" in said
    assert str(run.idempotency_key) in said
    assert "began with version 5 and is over: the record is now at version 6" in said
    assert "Refund failed : Refunding → Refund needs attention" in said
    assert "Nobody has touched this run." in said


def test_a_run_whose_outcome_led_somewhere_says_so_before_the_click(story: Story, browser: Client) -> None:
    run = story.run_of(story.refund_declined(), "orders.refund")
    said = text(browser.get(address(run)))
    assert "Its outcome has already moved the record; needs force and a reason" in said
    assert "The stay it belongs to is over: its outcome no longer moves the record." in said
    assert "To do it again so that the record learns of the outcome, fire “Retry refund” on the record instead." in said
    assert "Not possible: no follow-up waits It has been applied" in said
    assert "Not possible: it is finished" in said


def test_a_settled_run_is_run_again_only_by_force_with_a_reason(story: Story, browser: Client) -> None:
    run = story.run_of(story.refund_declined(), "orders.refund")
    response = browser.post(address(run), operator_action(run, "retry", reason="card is open again"))
    assert response.status_code == 409
    assert "Nothing was done." in text(response)
    assert "To run the effect again all the same: force, with a reason." in text(response)
    assert "card is open again" in response.content.decode()
    response = browser.post(address(run), operator_action(run, "retry", force="1"))
    assert response.status_code == 400
    assert "Force needs a reason" in text(response)
    run.refresh_from_db()
    assert run.status == "failed"
    assert OperatorAction.objects.count() == LogEntry.objects.count() == 0
    response = browser.post(
        address(run), operator_action(run, "retry", force="1", reason="card is open again"), follow=True
    )
    assert f"Run {run.pk} is queued again." in text(response)
    run.refresh_from_db()
    assert run.status == "queued"
    action = OperatorAction.objects.get()
    assert (action.action, action.run_id, action.forced, action.reason) == ("retry", run.pk, True, "card is open again")
    assert (action.actor_label, action.before["status"]) == ("olga", "failed")
    log = LogEntry.objects.get()
    assert (log.object_id, log.action_flag, log.user.get_username()) == (str(run.pk), CHANGE, "olga")
    assert log.get_change_message() == f"Run {run.pk} is queued again. card is open again (forced)"
    assert "Retry forced olga" in text(response)
    assert "“card is open again”" in text(response)


def test_a_blocked_follow_up_is_continued_once_its_reason_is_gone(story: Story, browser: Client) -> None:
    order = story.follow_up_refused()
    run = story.run_of(order, "orders.refund")
    said = text(browser.get(address(run)))
    assert f"“orders.refund” is done. Order {order.pk} does not know of it yet." in said
    assert "was refused 1 time: The accounting day is being closed." in said
    assert "It is tried again by itself at" in said
    assert "Fires “Refunded” with the stored outcome The effect is not called again." in said
    assert "Not possible: the effect has succeeded" in said
    assert "What failed is the follow-up: use Continue." in said
    assert '"refund_ref"' in said
    response = browser.post(address(run), operator_action(run, "continue", reason="try"))
    assert response.status_code == 409
    assert "The follow-up was refused. The accounting day is being closed. Guard day_open" in text(response)
    assert OperatorAction.objects.get().action == "continue"
    story.open_the_day()
    response = browser.post(address(run), operator_action(run, "continue", reason="day is open"), follow=True)
    assert f"Run {run.pk}: “Refunded” was fired." in text(response)
    order.refresh_from_db()
    assert order.status == "refunded"
    assert OperatorAction.objects.count() == 2


def test_an_abandoned_follow_up_waits_for_a_person(story: Story, browser: Client) -> None:
    run = story.run_of(story.follow_up_refused(times=10), "orders.refund")
    said = text(browser.get(address(run)))
    assert "It is not tried again by itself: continue it once the reason is gone." in said
    assert "not by itself: it waits for a person to continue it" in said


def test_a_queued_run_is_cancelled_and_says_what_that_leaves_behind(story: Story, browser: Client) -> None:
    order = story.queued()
    run = story.run_of(order, "orders.create_checkout")
    said = text(browser.get(address(run)))
    assert "Ends it without an outcome Nothing follows a cancelled run. The record stays in Creating checkout." in said
    assert "No person can move it from there; only system code could." in said
    assert "Not possible: it is queued already" in said
    response = browser.post(address(run), operator_action(run, "cancel", reason="typed twice"), follow=True)
    assert f"Run {run.pk} is cancelled." in text(response)
    run.refresh_from_db()
    assert run.status == "cancelled"
    assert "Cancelled by olga: “typed twice”" in text(browser.get(LIST))


def test_a_leased_run_is_not_touched_without_saying_so(story: Story, browser: Client) -> None:
    run = leased(story.run_of(story.queued(), "orders.create_checkout"))
    said = text(browser.get(address(run)))
    assert "Leased by worker-2 until" in said
    assert said.count("Takes it from its worker; needs force and a reason") == 2
    assert "Its outcome is then discarded, but what the effect did outside stays done." in said
    response = browser.post(address(run), operator_action(run, "cancel", reason="hangs"))
    assert response.status_code == 409
    assert "worker-2 is working on this run" in text(response)
    run.refresh_from_db()
    assert run.status == "running"
    assert browser.post(address(run), operator_action(run, "cancel", reason="hangs", force="1")).status_code == 302
    run.refresh_from_db()
    assert run.status == "cancelled"


def test_a_run_whose_lease_has_ended_is_not_shown_as_running(story: Story, browser: Client) -> None:
    run = leased(story.run_of(story.queued(), "orders.create_checkout"), minutes=-1)
    for page in (LIST, address(run)):
        said = text(browser.get(page))
        assert "Lease ended" in said
        assert "The lease of worker-2 has ended. The next tick takes it back." in said
        assert '<span class="lc-badge tone-progress' not in browser.get(page).content.decode().split("filter")[0]


def test_the_fields_of_an_action_have_their_labels_also_where_a_theme_draws_them_without(
    story: Story, browser: Client
) -> None:
    html = browser.get(LIST).content.decode()
    assert '<label class="lc-asked">Force <input type="checkbox" name="force"' in html
    assert '<label class="lc-asked">Reason <input type="text" name="reason"' in html


def test_a_run_of_unknown_code_is_told_and_can_only_be_cancelled(story: Story, browser: Client) -> None:
    run = story.run_of(story.queued(), "orders.create_checkout")
    Run.objects.filter(pk=run.pk).update(effect="orders.gone")
    said = text(browser.get(address(run)))
    assert "This process has no code for “orders.gone”." in said
    assert said.count("Not possible: the effect is unknown here") == 1
    Run.objects.filter(pk=run.pk).update(follow_up="pending", status="succeeded", outcome="succeeded")
    assert text(browser.get(address(run))).count("Not possible: the effect is unknown here") == 2
    response = browser.post(address(run), operator_action(run, "continue"))
    assert response.status_code == 409
    assert "This process has no code for the effect “orders.gone”" in text(response)


def test_a_run_that_changed_since_the_page_was_drawn_is_left_alone(story: Story, browser: Client) -> None:
    order = story.queued()
    run = story.run_of(order, "orders.create_checkout")
    stale = operator_action(run, "cancel", reason="typed twice")
    story.kit.run_due()
    response = browser.post(address(run), stale)
    assert response.status_code == 409
    assert "This run has changed since this page was loaded. Nothing was done; this is how it is now." in text(response)
    assert "typed twice" in response.content.decode()
    run.refresh_from_db()
    assert run.status == "succeeded"
    assert OperatorAction.objects.count() == 0


def test_a_reason_that_is_too_long_changes_nothing(story: Story, browser: Client) -> None:
    run = story.run_of(story.queued(), "orders.create_checkout")
    response = browser.post(address(run), operator_action(run, "cancel", reason="x" * 501))
    assert response.status_code == 400
    assert "The reason has 501 characters; at most 500 are kept." in text(response)
    run.refresh_from_db()
    assert run.status == "queued"


def test_a_run_that_is_gone_leads_back_to_the_list(story: Story, browser: Client) -> None:
    response = browser.get(f"{LIST}999999/change/", follow=True)
    assert response.redirect_chain == [(LIST, 302)]
    assert "“999999” is not there; it may have been pruned." in text(response)
    assert browser.get(f"{LIST}nonsense/change/").status_code == 302


def test_results_and_errors_are_shown_as_text_whatever_is_in_them(story: Story, browser: Client) -> None:
    run = story.run_of(story.refund_failed(), "orders.refund")
    Run.objects.filter(pk=run.pk).update(
        error="<script>alert(1)</script>",
        error_details={"<b>": "</pre><script>"},
        checkpoint={"page": 3},
        result=["<i>"],
    )
    html = browser.get(address(run)).content.decode()
    assert "<script>alert" not in html
    assert "</pre><script>" not in html
    assert "&lt;b&gt;" in html
    assert "<script>alert" not in browser.get(LIST).content.decode()


# Many -------------------------------------------------------------------------------------------


def chosen(action: str, *runs: Any, **data: Any) -> dict[str, Any]:
    return {"action": action, "_selected_action": [getattr(one, "pk", one) for one in runs], "index": 0, **data}


def test_many_runs_are_decided_one_by_one_and_each_is_reported(story: Story, browser: Client) -> None:
    dead = story.run_of(story.queued(), "orders.create_checkout")
    Run.objects.filter(pk=dead.pk).update(status="dead", crashes=3, error_code="worker_lost")
    succeeded = story.run_of(story.paid(), "orders.create_checkout")
    settled = story.run_of(story.refund_declined(), "orders.refund")
    busy = leased(story.run_of(story.queued(), "orders.create_checkout"))
    response = browser.post(
        LIST, chosen("retry_runs", dead, succeeded, settled, busy, 999999, reason="provider is back")
    )
    said = text(response)
    assert "1 done 4 refused “provider is back”" in said
    assert f"Done Run {dead.pk} is queued again." in said
    assert "This run succeeded; it is not run again. Fire the transition" in said
    assert "This run is settled." in said
    assert "worker-2 is working on this run" in said
    assert "Run 999999 Refused It is not among the runs you see." in said
    assert OperatorAction.objects.get().run_id == dead.pk
    assert LogEntry.objects.get().object_id == str(dead.pk)
    assert Run.objects.filter(status="queued").count() == 1


def test_runs_whose_follow_up_waits_are_to_be_continued_and_are_told_so_once(story: Story, browser: Client) -> None:
    runs = [story.run_of(story.follow_up_refused(), "orders.refund") for _ in range(2)]
    said = text(browser.post(LIST, chosen("retry_runs", *runs)))
    assert "0 done 2 refused" in said
    assert said.count("What is left to do is its follow-up: use Continue.") == 1
    assert "Fire the transition" not in said
    assert OperatorAction.objects.count() == 0


def test_force_for_many_needs_a_reason_too(story: Story, browser: Client) -> None:
    run = story.run_of(story.refund_declined(), "orders.refund")
    response = browser.post(LIST, chosen("retry_runs", run, force="on"), follow=True)
    assert "Nothing was done. Force needs a reason" in text(response)
    assert OperatorAction.objects.count() == 0
    said = text(browser.post(LIST, chosen("retry_runs", run, force="on", reason="agreed by phone")))
    assert f"Done Run {run.pk} is queued again." in said


def test_many_follow_ups_are_continued_and_many_runs_cancelled(story: Story, browser: Client) -> None:
    order = story.follow_up_refused()
    other = story.queued()
    first, second = story.run_of(order, "orders.refund"), story.run_of(other, "orders.create_checkout")
    story.open_the_day()
    said = text(browser.post(LIST, chosen("continue_runs", first, second)))
    assert f"Run {first.pk}: “Refunded” was fired." in said
    assert "This run has no follow-up that waits (status: Queued, follow-up: None)." in said
    # The filter of the list no longer holds for what was just cancelled; it is reported all the same.
    said = text(browser.post(f"{LIST}?status=queued", chosen("cancel_runs", first, second)))
    assert f"Run {second.pk} is cancelled." in said
    assert f"Run {first.pk} Refused It is not among the runs you see." in said
    assert "1 done 1 refused" in said
    assert Order.objects.get(pk=order.pk).status == "refunded"


def test_runs_of_a_retry_look_different_from_those_never_started(story: Story, browser: Client) -> None:
    order = story.refunding()
    story.payments.trouble = [ProviderUnavailable("503 Away")]
    story.kit.run_due()
    said = text(browser.get(f"{LIST}?q={order.pk}"))
    assert "Queued, retry" in said
    assert re.search(r"503 Away Next attempt in [12] s|503 Away Next attempt now", said)


@pytest.mark.row("G8")
@pytest.mark.parametrize("status", ["queued", "running", "failed"])
def test_a_run_without_a_limit_of_attempts_says_so(
    story: Story, browser: Client, short: Callable[..., None], status: str
) -> None:
    run = story.run_of(story.queued(), "orders.create_checkout")
    short("orders.create_checkout", lifecycle="orders", retry=Retry(attempts=None))
    if status == "running":
        leased(run)
    Run.objects.filter(pk=run.pk).update(status=status, max_attempts=None, attempts=7)
    number = 8 if status == "running" else 7

    assert f"attempt {number}, no limit" in text(browser.get(LIST))
    page = text(browser.get(address(run)))
    assert f"Attempts: {number}, no limit" in page
    assert ("Fresh attempts under the same idempotency key" in page) == (status != "queued")


@pytest.mark.row("G8")
def test_code_that_fell_silent_is_told_from_code_that_took_too_long(story: Story, browser: Client) -> None:
    run = story.run_of(story.queued(), "orders.create_checkout")
    Run.objects.filter(pk=run.pk).update(
        status="failed", attempts=1, error_kind="heartbeat_timeout", error="No heartbeat for 30 s."
    )
    RunAttempt.objects.create(
        run=run, number=1, ending="timed_out", error_kind="heartbeat_timeout", ended_at=clock.now()
    )

    assert "Fell silent No heartbeat for 30 s." in text(browser.get(LIST))
    assert "fell silent" in text(browser.get(address(run)))
