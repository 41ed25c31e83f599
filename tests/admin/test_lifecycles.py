"""The Lifecycles page: whether it runs, where records pile up, what is stuck, which values are in force."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from lifecycle import clock
from lifecycle.models import OperatorAction, ParameterOverride, Run
from orders.models import Order
from tests.admin.story import Story
from tests.admin.test_records import text

pytestmark = pytest.mark.django_db

PAGE = "/admin/lifecycle/lifecyclespage/"
WINDOW = f"{PAGE}orders/payment_window/"


@pytest.fixture
def browser(story: Story, browser_of: Callable[[Any], Client]) -> Client:
    return browser_of(story.operator())


def section(response: Any, name: str) -> str:
    """One lifecycle's part of the page."""
    found = re.search(
        rf'<section class="module lc-life" id="lc-{name}-section".*?</section>', response.content.decode(), re.DOTALL
    )
    assert found is not None
    return found[0]


def words(html: str) -> str:
    class Page:
        content = html.encode()

    return text(Page)


# Looking ----------------------------------------------------------------------------------------


def test_the_page_is_linked_from_the_index(browser: Client) -> None:
    for index in ("/admin/", "/admin/lifecycle/"):
        assert f'href="{PAGE}"' in browser.get(index).content.decode()


def test_every_lifecycle_shows_its_records_per_state_and_the_oldest_stay(story: Story, browser: Client) -> None:
    story.draft()
    story.kit.travel(hours=5)
    story.draft()
    story.paid()
    response = browser.get(PAGE)
    html = section(response, "orders")
    assert "3 records · 10 states, 13 transitions" in words(html)
    assert "Records: Draft 2, oldest 5 h" in html
    assert 'href="/admin/orders/order/?status=draft"' in html
    for name in ("tickets", "parcels", "stray_payments"):
        assert section(response, name)


def test_stuck_work_is_counted_from_worst_to_best_with_the_lists_it_leads_to(story: Story, browser: Client) -> None:
    story.refund_declined()
    story.follow_up_refused(times=10)
    story.follow_up_refused()
    story.queued()
    html = section(browser.get(PAGE), "orders")
    assert re.search(r"Follow-up abandoned 1 orders.refund", words(html))
    assert re.search(r"Failed 1 orders.refund", words(html))
    assert re.search(r"Follow-up waiting 1 next try", words(html))
    assert re.search(r"Due 1 oldest", words(html))
    for query in ("follow_up=abandoned", "status=failed", "follow_up=pending", "status=queued"):
        link = f"/admin/lifecycle/run/?lifecycle=orders&amp;{query}"
        assert link in html
        assert browser.get(link.replace("&amp;", "&")).status_code == 200


def test_held_triggers_and_overdue_states_are_shown_as_late(story: Story, browser: Client) -> None:
    story.held()
    html = section(browser.get(PAGE), "orders")
    assert "Timeout refused 1" in words(html)
    assert 'href="/admin/lifecycle/triggerhold/?lifecycle=orders"' in html
    assert re.search(r"Expire overdue for 5\d s|Expire overdue for 1 min", words(html))
    assert "is-late" in html
    assert re.search(r"Awaiting payment 1 \d+ min( \d+ s)? late", words(html))


def test_what_time_will_do_next_is_told(story: Story, browser: Client) -> None:
    assert "Expire nothing waits for it now; it fires after 3 min" in words(section(browser.get(PAGE), "orders"))
    story.awaiting()
    assert re.search(r"Expire next in 2 min 5\d s", words(section(browser.get(PAGE), "orders")))
    story.awaiting()
    assert re.search(
        r"Expire next in 2 min 5\d s, then 1 more within 3 min", words(section(browser.get(PAGE), "orders"))
    )


def test_health_says_whether_ticks_queues_broker_and_clock_are_well(story: Story, browser: Client) -> None:
    said = text(browser.get(PAGE))
    assert "Tick Never No tick has run here yet." in said
    story.kit.tick()
    story.queued()
    said = text(browser.get(PAGE))
    assert re.search(r"Tick [\d.]+ s ago every 5 s · took \d+ ms · no part failed", said)
    assert re.search(r"Queue default [\d.]+ s behind 1 due, 0 running", said)
    assert "Broker No trouble" in said
    assert re.search(r"Clock \d+ ms apart", said)
    story.kit.travel(minutes=14)
    response = browser.get(PAGE)
    assert re.search(r"Tick 14 min", text(response))
    assert "Queue default 14 min behind 1 due, 0 running, no worker at work" in text(response)
    assert response.content.decode().count("lc-tile tone-danger") == 2


def queue_tile(response: Any) -> tuple[str, str]:
    """The tone and the words of the tile of the default queue."""
    tiles = re.findall(r'<li class="lc-tile tone-(\w+)">(.*?)</li>', response.content.decode(), re.DOTALL)
    return next((tone, words(html).strip()) for tone, html in tiles if "Queue default" in html)


def taken(run: Run, *, lease_until: dt.datetime) -> None:
    facts = {"status": "running", "leased_by": "worker-2", "started_at": clock.now(), "lease_until": lease_until}
    Run.objects.filter(pk=run.pk).update(**facts)


def test_a_queue_behind_is_unwell_when_the_only_worker_never_came_back(story: Story, browser: Client) -> None:
    story.queued()
    taken(story.run_of(story.queued(), "orders.create_checkout"), lease_until=clock.now() + dt.timedelta(minutes=5))
    story.kit.travel(hours=2)

    response = browser.get(PAGE)

    assert queue_tile(response) == (
        "danger",
        "Queue default 2 h behind 1 due, 0 running, no worker at work, 1 lease ended",
    )
    said = words(section(response, "orders"))
    assert re.search(r"Lease ended 1 since 1 h 55 min", said)
    assert "Running 0" in said


@pytest.mark.parametrize(("minutes", "tone"), [(5, "success"), (11, "danger")])
def test_a_worker_at_work_excuses_a_queue_that_is_a_little_behind_and_none_that_is_far_behind(
    story: Story, browser: Client, minutes: int, tone: str
) -> None:
    story.queued()
    run = story.run_of(story.queued(), "orders.create_checkout")
    story.kit.travel(minutes=minutes)
    taken(run, lease_until=clock.now() + dt.timedelta(minutes=5))

    response = browser.get(PAGE)

    assert queue_tile(response) == (tone, f"Queue default {minutes} min behind 1 due, 1 running, 1 worker")
    assert "Running 1 longest" in words(section(response, "orders"))
    assert "Lease ended" not in words(section(response, "orders"))


def test_the_page_costs_the_same_queries_however_many_records(story: Story, browser: Client) -> None:
    def cost() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert browser.get(PAGE).status_code == 200
        return len(queries)

    story.refund_declined()
    story.queued()
    browser.get(PAGE)
    before = cost()
    for _ in range(4):
        story.refund_declined()
        story.queued()
    assert cost() == before


def test_records_in_a_state_nobody_declares_are_counted_too(story: Story, browser: Client) -> None:
    order = story.draft()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE orders_order SET status = 'teleported' WHERE id = %s", [order.pk])
    assert "teleported (unknown) 1" in words(section(browser.get(PAGE), "orders"))


def test_a_stored_value_that_nobody_can_read_does_not_take_the_page_with_it(story: Story, browser: Client) -> None:
    from django.utils import timezone

    ParameterOverride.objects.create(
        lifecycle="orders", name="payment_window", value={"not": "a duration"}, updated_at=timezone.now()
    )
    response = browser.get(PAGE)
    assert "The stored value does not fit; the declared one counts." in text(response)
    assert section(response, "tickets")


@pytest.mark.parametrize("language", ["en", "de"])
def test_the_words_of_the_library_are_explained_where_they_are_used(
    story: Story, browser: Client, settings: Any, language: str
) -> None:
    run = story.run_of(story.refund_declined(), "orders.refund")
    settings.LANGUAGE_CODE = language
    told = {
        "en": ["Stay", "Entry", "Pending", "Due", "Attempt", "Lease", "Follow-up", "Held trigger"],
        "de": ["Aufenthalt", "Eintrag", "Ausstehend", "Fällig", "Versuch", "Lease", "Folge", "Angehaltener Auslöser"],
    }[language]
    for address in (PAGE, f"/admin/lifecycle/run/{run.pk}/change/"):
        html = browser.get(address).content.decode()
        glossary = re.search(r'<details class="lc-more lc-glossary">.*?</details>', html, re.DOTALL)
        assert glossary is not None
        assert re.findall(r"<dt>(.*?)</dt>", glossary[0]) == told


def test_a_german_page_names_records_in_german(story: Story, browser: Client, settings: Any) -> None:
    order = story.refund_declined()
    settings.LANGUAGE_CODE = "de"
    said = text(browser.get("/admin/lifecycle/run/"))
    assert f"Bestellung {order.pk}" in said
    assert f"Order {order.pk}" not in said


# Parameters -------------------------------------------------------------------------------------


def typed(value: str, **data: Any) -> dict[str, Any]:
    return {"value": value, "seen": '"P0DT00H03M00S"', "reason": "sessions end earlier", **data}


def window() -> Any:
    from lifecycle.store import parameters
    from orders.lifecycles import OrderLifecycle

    return parameters.read(OrderLifecycle.definition, "default").payment_window


def test_a_changed_parameter_counts_for_the_next_timeout_and_keeps_its_history(story: Story, browser: Client) -> None:
    order = story.awaiting()
    said = text(browser.get(WINDOW))
    assert "In force 3 min Declared 3 min May affect expire_unpaid" in said
    assert "Nobody has changed it." in said
    response = browser.post(WINDOW, typed("1 min"), follow=True)
    assert "Parameter payment_window of orders is now 1 min. It counts from now on." in text(response)
    assert "payment_window 1 min 3 min" in words(section(response, "orders"))
    assert re.search(r"Last changed by olga, .*: payment_window 3 min → 1 min, “sessions end earlier”",
                     words(section(response, "orders")))  # fmt: skip
    said = text(browser.get(WINDOW))
    assert "3 min → 1 min Parameter changed · olga" in said
    story.kit.travel(seconds=70)
    story.kit.tick()
    order.refresh_from_db()
    assert (order.status, order.cancel_reason) == ("cancelled", "timeout")


@pytest.mark.parametrize("value", ["2 min", "0 d 2 min", "0:02:00", "PT2M", " 2 MIN ", "120 s"])
def test_a_duration_is_written_as_people_write_it(story: Story, browser: Client, value: str) -> None:
    assert browser.post(WINDOW, typed(value)).status_code == 302
    assert window().total_seconds() == 120


@pytest.mark.parametrize("value", ["", "soon", "120", "2.5", "-2 min", "-0:02:00", "2 fortnights", "min 2", "nan min"])
def test_a_value_that_does_not_fit_changes_nothing_and_stays_in_the_form(
    story: Story, browser: Client, value: str
) -> None:
    response = browser.post(WINDOW, typed(value))
    assert response.status_code == 400
    assert "Nothing was changed." in text(response)
    assert f'value="{value}"' in response.content.decode() or not value
    assert "sessions end earlier" in response.content.decode()
    assert ParameterOverride.objects.count() == OperatorAction.objects.count() == 0


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("soon", "“soon” is no duration. A duration with its unit: 3 min, 2 d 12 h, 0:03:00 or PT3M."),
        ("120", "“120” has no unit. A duration with its unit: 3 min, 2 d 12 h, 0:03:00 or PT3M."),
    ],
)
def test_what_is_wrong_with_a_duration_is_said_in_the_words_of_the_fields_help(
    story: Story, browser: Client, value: str, said: str
) -> None:
    assert said in text(browser.post(WINDOW, typed(value)))


def test_a_parameter_somebody_else_changed_meanwhile_is_left_alone(story: Story, browser: Client) -> None:
    browser.post(WINDOW, typed("1 min"))
    response = browser.post(WINDOW, typed("9 min"))
    assert response.status_code == 409
    assert "Somebody else has changed the parameter “payment_window” of “orders” meanwhile." in text(response)
    assert window().total_seconds() == 60
    assert browser.post(WINDOW, typed("9 min", seen="nonsense")).status_code == 400
    assert browser.post(WINDOW, {"value": "9 min"}).status_code == 400


def test_a_parameter_goes_back_to_its_declaration(story: Story, browser: Client) -> None:
    assert "Back to 3 min" not in text(browser.get(WINDOW))
    browser.post(WINDOW, typed("1 min"))
    assert "Back to 3 min" in text(browser.get(WINDOW))
    browser.post(WINDOW, typed("", reset="1", seen='"P0DT00H01M00S"'))
    assert ParameterOverride.objects.count() == 0
    assert OperatorAction.objects.latest("id").action == "reset_parameter"


def test_a_yes_or_no_parameter_is_a_choice(story: Story, browser: Client) -> None:
    address = f"{PAGE}tickets/reminders/"
    html = browser.get(address).content.decode()
    assert '<option value="true" selected>yes</option>' in html
    assert browser.post(address, {"value": "false", "seen": "true"}).status_code == 302
    assert ParameterOverride.objects.get().value is False
    assert browser.post(address, {"value": "maybe", "seen": "false"}).status_code == 400


def test_a_parameter_that_is_not_there_has_no_page(browser: Client) -> None:
    for path in ("orders/nonsense/", "nonsense/payment_window/", "stray_payments/payment_window/"):
        assert browser.get(PAGE + path).status_code == 404
    assert browser.get(f"{WINDOW}?database=nonsense").status_code == 404


def test_the_pages_need_no_inline_script_or_style(story: Story, browser_of: Callable[[Any], Client]) -> None:
    client = browser_of(story.boss)
    order = story.follow_up_refused()
    story.held()
    run = Run.objects.latest("id")
    pages = [
        PAGE, WINDOW, "/admin/lifecycle/run/", f"/admin/lifecycle/run/{run.pk}/change/",
        "/admin/lifecycle/transitionlog/", "/admin/lifecycle/triggerhold/", "/admin/lifecycle/operatoraction/",
        "/admin/orders/order/", f"/admin/orders/order/{order.pk}/change/", "/admin/orders/order/add/",
    ]  # fmt: skip
    for page in pages:
        html = client.get(page).content.decode()
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:", html), page
        assert not re.search(r"<script(?![^>]*\ssrc=)[^>]*>\s*\S", html), page
        assert 'href="/static/lifecycle/admin.css"' in html, page
    assert Order.objects.exists()
