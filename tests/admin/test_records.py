"""A record's page and list: seeing where it is, firing one transition or many, adding, saving."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.contrib.admin.models import ADDITION, CHANGE, LogEntry
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from lifecycle import SYSTEM
from lifecycle.models import Run, TransitionLog
from lifecycle.runtime import create, register_guard
from orders.models import Order, StrayPayment
from tests.admin.story import Story
from tests.columns.models import Invoice
from tests.support.models import Parcel, Ticket

pytestmark = pytest.mark.django_db


def text(response: Any) -> str:
    """What a page says, without its markup."""
    bare = re.sub(r"<(script|style|svg)\b.*?</\1>", " ", response.content.decode(), flags=re.DOTALL)
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", bare)))


def address(order: Order, transition: str = "") -> str:
    base = f"/admin/orders/order/{order.pk}"
    return f"{base}/lifecycle/orders/{transition}/" if transition else f"{base}/change/"


SHIPPING = {"input-carrier": "DHL", "input-tracking_number": "00340"}


def page_of(order: Order) -> dict[str, Any]:
    """What the form of a page drawn now would send with it."""
    return {"version": order.lifecycle.version, "key": f"key-{order.pk}-{order.lifecycle.version}"}


@pytest.fixture
def browser(story: Story, browser_of: Callable[[Any], Client]) -> Client:
    return browser_of(story.boss)


# Seeing -----------------------------------------------------------------------------------------


def test_the_page_says_where_a_record_is_and_how_it_got_there(story: Story, browser: Client) -> None:
    order = story.paid()
    said = text(browser.get(address(order)))
    assert "Lifecycle: Order" in said
    assert re.search(r"Paid for \d+(\.\d)? s , since", said)
    assert "nothing: no time limit in Paid" in said
    assert "Ship… → Fulfilled, final. Asks for Carrier and Tracking number" in said
    assert "Refund order → Refunding. The payment is given back in full." in said
    assert "Pay, Cancel order and Retry refund do not start in Paid." in said
    assert "Payment succeeded Awaiting payment → Paid Sandbox provider, event evt_" in said
    assert re.search(r"System, from run \d+", said)
    assert "40 s in Awaiting payment" in said
    assert "title Floor" not in said
    assert "title Walnut reading lamp , amount_cents 16400" in said
    assert "Effects 1 run finished" in said


def test_a_closed_transition_shows_every_reason_and_who_asks_for_it(story: Story, browser: Client) -> None:
    """What is not possible now is told with what is missing (kmmbvnr/django-fsm #140)."""
    order = story.paid()

    def no_chargeback(ctx: Any) -> str:
        return "A chargeback is open: case CB-77."

    def day_open(ctx: Any) -> bool:
        return False

    removers = [register_guard("orders", "refund_order", ask) for ask in (no_chargeback, day_open)]
    try:
        said = text(browser.get(address(order)))
        assert "Refund order A chargeback is open: case CB-77. Guard no_chargeback" in said
        assert "“Refund order” is refused: day open does not hold. Guard day_open" in said
        form = browser.get(address(order, "refund_order"))
        assert 'aria-disabled="true"' in form.content.decode()
        assert "A chargeback is open" in text(form)
    finally:
        for remove in removers:
            remove()


def test_what_time_will_do_is_told_with_its_moment(story: Story, browser: Client) -> None:
    said = text(browser.get(address(story.awaiting())))
    assert re.search(
        r"By itself at \d\d:\d\d:\d\d Expire → Cancelled \(in 2 min 5\d s\), unless it moves on before", said
    )
    said = text(browser.get(address(story.held())))
    assert "Expire was due and was refused: The accounting day is being closed. It is tried again at" in said


def test_the_diagram_marks_the_state_the_path_and_what_is_open(story: Story, browser: Client) -> None:
    html = browser.get(address(story.paid())).content.decode()
    picture = re.search(r'<svg [^>]*class="lc-diagram".*?</svg>', html, re.DOTALL)
    assert picture is not None
    assert "is-current" in picture[0]
    assert "is-path" in picture[0]
    assert "is-open" in picture[0]
    assert "Now in Paid." in picture[0]
    assert 'class="lc-diagram is-near"' in html


def test_errors_of_runs_are_told_only_to_those_who_see_runs(
    story: Story, browser: Client, browser_of: Callable[[Any], Client]
) -> None:
    order = story.refund_failed()
    run = story.run_of(order, "orders.refund")
    Order.objects.filter(pk=order.pk).update(last_error="")
    link = f"/admin/lifecycle/run/{run.pk}/change/"
    TransitionLog.objects.filter(record_id=str(order.pk)).update(input={})
    page = browser.get(address(order)).content.decode()
    assert "502 Bad gateway" in page
    assert link in page
    clerk = browser_of(story.person("clara", "orders.view_order"))
    page = clerk.get(address(order)).content.decode()
    assert "502 Bad gateway" not in page
    assert link not in page


def test_the_pages_cost_the_same_queries_however_long_the_story(story: Story, browser: Client) -> None:
    def cost(url: str) -> int:
        with CaptureQueriesContext(connection) as queries:
            assert browser.get(url).status_code == 200
        return len(queries)

    short, long = story.paid(), story.refund_failed()
    for _ in range(3):
        long.lifecycle.fire("retry_refund", actor=story.boss)
        story.payments.trouble = [Exception("away")] * 3
        story.kit.run_due(retries=True)
        long.refresh_from_db()
    browser.get(address(short))  # what Django remembers from its first time
    assert TransitionLog.objects.filter(record_id=str(long.pk)).count() > 10
    assert cost(address(long)) == cost(address(short))
    before = cost("/admin/orders/order/")
    for _ in range(5):
        story.draft()
    assert cost("/admin/orders/order/") == before


def test_the_list_shows_states_and_filters_by_them(story: Story, browser: Client) -> None:
    story.paid("Lamp")
    story.draft("Mirror")
    html = browser.get("/admin/orders/order/").content.decode()
    assert html.count("lc-badge tone-success") == 1
    filtered = text(browser.get("/admin/orders/order/?status=paid"))
    assert "Lamp" in filtered
    assert "Mirror" not in filtered
    assert "2 orders" in text(browser.get("/admin/orders/order/?status=nonsense"))


# Firing -----------------------------------------------------------------------------------------


def test_a_transition_is_fired_with_its_input_and_reason_and_logged(story: Story, browser: Client) -> None:
    order = story.paid()
    form = browser.get(address(order, "ship"))
    assert f'name="version" value="{order.lifecycle.version}"' in form.content.decode()
    said = text(form)
    assert "Carrier" in said
    assert "Tracking number" in said
    reason = {"input-lifecycle_reason": "urgent"}
    response = browser.post(address(order, "ship"), {**page_of(order), **SHIPPING, **reason}, follow=True)
    assert f"Order {order.pk}: Ship. It is now Fulfilled." in text(response)
    order.refresh_from_db()
    assert (order.status, order.carrier, order.tracking_number) == ("fulfilled", "DHL", "00340")
    entry = TransitionLog.objects.latest("id")
    assert (entry.transition, entry.actor_label, entry.reason) == ("ship", "ben", "urgent")
    log = LogEntry.objects.latest("id")
    assert (log.object_id, log.action_flag) == (str(order.pk), CHANGE)
    assert log.get_change_message() == "Fired “Ship”: Paid → Fulfilled, version 5."


def test_wrong_input_stays_in_the_form_with_what_is_wrong(story: Story, browser: Client) -> None:
    """A transition's form saves nothing by halves and forgets nothing (django-fsm-admin #35)."""
    order = story.paid()
    data = {
        **page_of(order),
        "input-carrier": "Pigeon",
        "input-tracking_number": "x" * 60,
        "input-lifecycle_reason": "r",
    }
    response = browser.post(address(order, "ship"), data)
    assert response.status_code == 400
    said = text(response)
    assert "Pigeon is not one of the available choices" in said
    assert "at most 50 characters (it has 60)" in said
    assert "x" * 60 in response.content.decode()
    assert 'value="r"' in response.content.decode()
    order.refresh_from_db()
    assert order.status == "paid"
    assert LogEntry.objects.count() == 0


def test_a_page_sent_twice_fires_once(story: Story, browser: Client) -> None:
    order = story.paid()
    data = {**page_of(order), **SHIPPING}
    browser.post(address(order, "ship"), data)
    response = browser.post(address(order, "ship"), data, follow=True)
    assert "Ship was done already; it is not done twice." in text(response)
    assert TransitionLog.objects.filter(transition="ship").count() == 1
    assert LogEntry.objects.count() == 1


def test_who_comes_second_learns_who_was_faster_and_keeps_what_was_typed(
    story: Story, browser: Client, browser_of: Callable[[Any], Client]
) -> None:
    order = story.paid()
    stale = page_of(order)
    chidi = story.person("chidi", "orders.view_order", "orders.refund_order")
    assert browser_of(chidi).post(address(order, "refund_order"), page_of(order)).status_code == 302
    response = browser.post(address(order, "ship"), {**stale, "key": "other", **SHIPPING})
    assert response.status_code == 409
    said = text(response)
    assert "This order was handled by someone else." in said
    assert "Since then: Refund order · chidi ·" in said
    assert "You saw version 4, it is now at version 5." in said
    assert "00340" in response.content.decode()
    order.refresh_from_db()
    assert order.status == "refunding"


def test_a_page_without_a_version_decides_nothing(story: Story, browser: Client) -> None:
    order = story.paid()
    for version in ("", "x", "9" * 30):
        response = browser.post(address(order, "ship"), {"version": version, "key": "k", **SHIPPING})
        assert response.status_code == 400
    order.refresh_from_db()
    assert order.status == "paid"


def test_a_guard_that_changed_its_mind_refuses_the_click_with_its_reason(story: Story, browser: Client) -> None:
    order = story.paid()
    remove = register_guard("orders", "ship", lambda ctx: "The warehouse is closed.")
    try:
        response = browser.post(address(order, "ship"), {**page_of(order), **SHIPPING})
    finally:
        remove()
    assert response.status_code == 409
    assert "“Ship” was refused. Nothing was done. The warehouse is closed." in text(response)
    order.refresh_from_db()
    assert order.status == "paid"


def test_a_permission_taken_away_since_the_page_was_drawn_refuses_the_click(
    story: Story, browser_of: Callable[[Any], Client]
) -> None:
    """The permission is asked when the form arrives, not only when the button is drawn (django-fsm-2 PR #149)."""
    order = story.paid()
    shipper = story.person("shirin", "orders.view_order", "orders.ship_order")
    client = browser_of(shipper)
    assert "Ship" in text(client.get(address(order, "ship")))
    shipper.user_permissions.filter(codename="ship_order").delete()
    shipper.user_permissions.clear()
    assert client.post(address(order, "ship"), {**page_of(order), **SHIPPING}).status_code == 403
    order.refresh_from_db()
    assert order.status == "paid"


def test_a_hidden_transition_cannot_be_reached_by_its_address(story: Story, browser: Client) -> None:
    """Every entry goes through one authorised entry point (django-fsm-2 4.2.4)."""
    order = story.awaiting()
    for name in ("expire", "payment_succeeded", "nonsense"):
        assert browser.get(address(order, name)).status_code == 404
        assert browser.post(address(order, name), page_of(order)).status_code == 404
    assert browser.get(f"/admin/orders/order/{order.pk}/lifecycle/tickets/solve/").status_code == 404
    assert browser.get("/admin/orders/order/999999/lifecycle/orders/ship/").status_code == 404
    assert browser.get("/admin/orders/order/nonsense/lifecycle/orders/ship/").status_code == 404
    order.refresh_from_db()
    assert order.status == "awaiting_payment"


def test_a_record_outside_ones_rows_is_not_there(
    story: Story, browser_of: Callable[[Any], Client], settings: Any
) -> None:
    settings.ROOT_URLCONF = "tests.admin.site"
    anna = story.person("anna", "support.view_ticket", "support.change_ticket")
    mine = create(Ticket(title="Mine", note="anna"), actor=SYSTEM)
    other = create(Ticket(title="Other", note="bert"), actor=SYSTEM)
    client = browser_of(anna)
    data = {"version": 1, "key": "k", "input-note": "anna"}
    assert client.post(f"/own/support/ticket/{other.pk}/lifecycle/tickets/ask/", data).status_code == 404
    response = client.post(f"/own/support/ticket/{mine.pk}/lifecycle/tickets/ask/", data)
    assert (response.status_code, response["Location"]) == (302, f"/own/support/ticket/{mine.pk}/change/")
    for ticket in (mine, other):
        ticket.refresh_from_db()
    assert (mine.status, other.status) == ("waiting", "open")


def test_a_move_out_of_ones_rows_leads_back_to_the_list(
    story: Story, browser_of: Callable[[Any], Client], settings: Any
) -> None:
    settings.ROOT_URLCONF = "tests.admin.site"
    anna = story.person("anna", "support.view_ticket", "support.change_ticket")
    mine = create(Ticket(title="Mine", note="anna"), actor=SYSTEM)
    data = {"version": 1, "key": "k", "input-note": "bert takes it"}
    response = browser_of(anna).post(f"/own/support/ticket/{mine.pk}/lifecycle/tickets/ask/", data)
    assert response["Location"] == "/own/support/ticket/"


# Adding and saving ------------------------------------------------------------------------------

NEW = {"customer": "Ada", "title": "Cups", "amount_cents": 4800, "currency": "EUR"}
NEW |= {"fail_checkouts": 0, "fail_refunds": 0}


def test_a_record_is_added_through_the_runtime(story: Story, browser: Client) -> None:
    assert browser.post("/admin/orders/order/add/", NEW).status_code == 302
    order = Order.objects.get()
    assert (order.status, order.lifecycle_version) == ("draft", 1)
    entry = TransitionLog.objects.get()
    assert (entry.transition, entry.record_id, entry.actor_label) == ("$create", str(order.pk), "ben")
    assert LogEntry.objects.get().action_flag == ADDITION


def test_bad_input_for_a_new_record_becomes_errors_of_the_form(story: Story, browser: Client) -> None:
    response = browser.post(
        "/admin/orders/order/add/", {**NEW, "amount_cents": 0, "currency": "euro", "status": "paid"}
    )
    assert response.status_code == 200
    said = text(response)
    assert "greater than or equal to 1" in said
    assert "Three capital letters" in said or "at most 3 characters" in said
    assert Order.objects.count() == TransitionLog.objects.count() == LogEntry.objects.count() == 0


def test_what_only_the_runtime_refuses_becomes_an_error_of_the_form_and_nothing_is_written(
    story: Story, browser: Client, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.ROOT_URLCONF = "tests.admin.site"

    def clean(self: Ticket) -> None:
        from django.core.exceptions import ValidationError

        if self.title == "Known only when it is created" and not self._state.adding:
            return
        if "created" in self.title and getattr(self, "twice", False):
            raise ValidationError({"title": "Not this one."})
        self.twice = True

    monkeypatch.setattr(Ticket, "clean", clean)
    data = {"title": "Known only when it is created", "priority": 1, "log": "[]"}
    response = browser.post("/own/support/ticket/add/", data)
    assert response.status_code == 200
    assert "Not this one." in text(response)
    assert "Known only when it is created" in response.content.decode()
    assert Ticket.objects.count() == TransitionLog.objects.count() == 0


def test_columns_of_the_lifecycle_cannot_be_typed_in(story: Story, browser: Client) -> None:
    order = story.paid()
    data = {**NEW, "customer": "Grace", "status": "draft", "lifecycle_version": 99, "payment_ref": "forged"}
    assert browser.post(address(order), data).status_code == 302
    order.refresh_from_db()
    assert (order.customer, order.status, order.lifecycle_version) == ("Grace", "paid", 4)
    assert order.payment_ref == f"pay_{order.pk}"
    assert order.amount_cents == 16400


def test_saving_a_page_that_is_out_of_date_saves_nothing(story: Story, browser: Client) -> None:
    order = story.paid()
    html = browser.get(address(order)).content.decode()
    assert 'name="lifecycle_version_orders" value="4"' in html
    order.lifecycle.fire("refund_order", actor=story.boss)
    data = {**NEW, "customer": "Grace", "lifecycle_version_orders": "4"}
    response = browser.post(address(order), data)
    assert response.status_code == 200
    assert "was handled by someone else since the page was drawn: it is at version 5, you saw version 4" in text(
        response
    )
    order.refresh_from_db()
    assert order.customer == "Omar Haddad"
    assert 'value="Grace"' in response.content.decode()
    assert browser.post(address(order), {**data, "lifecycle_version_orders": "5"}).status_code == 302


# Many -------------------------------------------------------------------------------------------


def chosen(*orders: Any, action: str = "lifecycle:orders:ship") -> dict[str, Any]:
    return {"action": action, "_selected_action": [getattr(one, "pk", one) for one in orders], "index": 0}


def confirmed(*orders: Any, name: str = "ship", **data: Any) -> dict[str, Any]:
    keys = [getattr(one, "pk", one) for one in orders]
    return {"lifecycle_confirmed": f"orders:{name}", "key": "once", "row": keys, **data}


def test_an_action_asks_first_and_says_what_each_row_would_answer(story: Story, browser: Client) -> None:
    paid, draft = story.paid(), story.draft()
    response = browser.post("/admin/orders/order/", chosen(paid, draft))
    assert response.status_code == 200
    said = text(response)
    assert "Ship: for 2 rows" in said
    assert f"Order {paid.pk} Paid yes" in said
    assert f"Order {draft.pk} Draft “Ship” starts in Paid; the record is Draft." in said
    assert TransitionLog.objects.filter(transition="ship").count() == 0


def test_an_action_over_mixed_rows_reports_each_of_them(story: Story, browser: Client) -> None:
    """Rows that cannot are told one by one, and do not stop the others (django-fsm-admin #36, #51)."""
    first, second, draft = story.paid(), story.paid(), story.draft()
    response = browser.post("/admin/orders/order/", confirmed(first, second, draft, 999999, "x", **SHIPPING))
    said = text(response)
    assert "2 done 3 refused" in said
    assert f"Order {first.pk} Done is now Fulfilled" in said
    assert f"Order {draft.pk} Refused “Ship” starts in Paid; the record is Draft." in said
    assert "2 rows 999999 x Refused It is not among the orders you see." in said
    assert sorted(Order.objects.values_list("status", flat=True)) == ["draft", "fulfilled", "fulfilled"]
    assert sorted(LogEntry.objects.values_list("object_id", flat=True)) == sorted([str(first.pk), str(second.pk)])
    assert list(Order.objects.filter(status="fulfilled").values_list("carrier", flat=True)) == ["DHL", "DHL"]


def test_rows_refused_for_the_same_reason_are_told_together_where_the_first_stood(
    story: Story, browser: Client
) -> None:
    drafts, paid = [story.draft(), story.draft()], story.paid()
    waiting = story.awaiting()
    response = browser.post("/admin/orders/order/", confirmed(drafts[0], waiting, paid, drafts[1], **SHIPPING))
    said = text(response)
    assert "1 done 3 refused" in said
    told = f"2 rows Order {drafts[0].pk} Order {drafts[1].pk} Refused “Ship” starts in Paid; the record is Draft."
    assert said.count(told) == said.count("the record is Draft.") == 1
    assert said.index(told) < said.index(f"Order {waiting.pk} Refused") < said.index(f"Order {paid.pk} Done")
    for order in (*drafts, waiting, paid):
        assert f'href="/admin/orders/order/{order.pk}/change/"' in response.content.decode()


def test_a_confirmation_sent_twice_does_nothing_twice(story: Story, browser: Client) -> None:
    order = story.paid()
    browser.post("/admin/orders/order/", confirmed(order, **SHIPPING))
    response = browser.post("/admin/orders/order/", confirmed(order, **SHIPPING))
    assert "was done already; it is Fulfilled" in text(response)
    assert TransitionLog.objects.filter(transition="ship").count() == 1
    assert LogEntry.objects.count() == 1


def test_wrong_input_for_many_stays_in_the_form(story: Story, browser: Client) -> None:
    first, second = story.paid(), story.paid()
    data = confirmed(first, second, **{"input-carrier": "Pigeon", "input-tracking_number": "1"})
    response = browser.post("/admin/orders/order/", data)
    assert response.status_code == 400
    assert "Pigeon is not one of the available choices" in text(response)
    assert f'name="row" value="{second.pk}"' in response.content.decode()
    assert Order.objects.filter(status="paid").count() == 2


def test_rows_outside_ones_queryset_are_reported_and_left_alone(
    story: Story, browser_of: Callable[[Any], Client], settings: Any
) -> None:
    settings.ROOT_URLCONF = "tests.admin.site"
    anna = story.person("anna", "support.view_ticket", "support.change_ticket")
    mine = create(Ticket(title="Mine", note="anna"), actor=SYSTEM)
    other = create(Ticket(title="Secret", note="bert"), actor=SYSTEM)
    client = browser_of(anna)
    asked = client.post("/own/support/ticket/", chosen(mine, other, action="lifecycle:tickets:triage"))
    assert "It is not among the tickets you see." in text(asked)
    data = {"lifecycle_confirmed": "tickets:triage", "key": "k", "row": [mine.pk, other.pk]}
    response = client.post("/own/support/ticket/", data)
    said = text(response)
    assert "1 done 1 refused" in said
    assert "It is not among the tickets you see." in said
    assert "Secret" not in said
    other.refresh_from_db()
    assert other.status == "open"


def test_an_action_nobody_declared_is_not_there(story: Story, browser: Client) -> None:
    order = story.awaiting()
    for name in ("expire", "nonsense"):
        assert browser.post("/admin/orders/order/", confirmed(order, name=name)).status_code == 404
    order.refresh_from_db()
    assert order.status == "awaiting_payment"


def test_too_many_rows_at_once_are_refused_before_anything_happens(
    story: Story, browser: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lifecycle.admin.records import bulk

    monkeypatch.setattr(bulk, "MOST_ROWS", 1)
    response = browser.post("/admin/orders/order/", chosen(story.draft(), story.draft()), follow=True)
    assert "Nothing was done. Choose at most 1 rows at once." in text(response)


# Other models -----------------------------------------------------------------------------------


def test_a_model_with_two_lifecycles_has_two_panels_two_badges_and_the_actions_of_both(
    story: Story, browser: Client, settings: Any
) -> None:
    settings.ROOT_URLCONF = "tests.admin.site"
    from lifecycle import registry

    invoice = create(Invoice(note="twice"), actor=SYSTEM, lifecycle=registry.get("columns_invoices"))
    page = browser.get(f"/own/columns/invoice/{invoice.pk}/change/")
    said = text(page)
    assert "Lifecycle: Invoice · columns_invoices" in said
    assert "Lifecycle: Invoice · columns_payments" in said
    assert "No history: it was there before its lifecycle." not in said
    html = browser.get("/own/columns/invoice/").content.decode()
    assert html.count('<span class="lc-badge') == 2
    assert "lifecycle:columns_payments:settle" in html
    response = browser.post(
        f"/own/columns/invoice/{invoice.pk}/lifecycle/columns_payments/settle/", {"version": 1, "key": "k"}, follow=True
    )
    assert "It is now Settled." in text(response)


def test_accepted_columns_are_asked_for_with_their_own_fields(story: Story, browser: Client, settings: Any) -> None:
    settings.ROOT_URLCONF = "tests.admin.site"
    ticket = create(Ticket(title="Printer", note="was here", priority=3), actor=SYSTEM)
    html = browser.get(f"/own/support/ticket/{ticket.pk}/lifecycle/tickets/ask/").content.decode()
    assert 'name="input-note"' in html
    assert 'value="was here"' in html
    base = f"/own/support/ticket/{ticket.pk}/lifecycle/tickets"
    browser.post(f"{base}/ask/", {"version": 1, "key": "k", "input-note": ""})
    ticket.refresh_from_db()
    assert (ticket.status, ticket.note) == ("waiting", "")
    solve = browser.get(f"{base}/solve/").content.decode()
    assert 'name="input-answer"' in solve
    assert 'name="input-priority"' in solve


def test_a_key_of_any_kind_finds_its_pages(story: Story, browser: Client, settings: Any) -> None:
    settings.ROOT_URLCONF = "tests.admin.site"
    parcel = create(Parcel(), actor=SYSTEM)
    response = browser.post(
        f"/own/support/parcel/{parcel.pk}/lifecycle/parcels/send/", {"version": 1, "key": "k"}, follow=True
    )
    assert "It is now Labelling." in text(response)
    run = Run.objects.get()
    assert (
        f"/own/support/parcel/{parcel.pk}/change/"
        in browser.get(f"/own/lifecycle/run/{run.pk}/change/").content.decode()
    )


def test_the_library_s_pages_stand_on_a_site_of_one_s_own(story: Story, browser: Client, settings: Any) -> None:
    settings.ROOT_URLCONF = "tests.admin.site"
    story.held()
    run = Run.objects.latest("id")
    pages = ["lifecyclespage/", "run/", f"run/{run.pk}/change/", "transitionlog/", "triggerhold/"]
    for page in pages:
        html = browser.get(f"/own/lifecycle/{page}").content.decode()
        assert 'href="/own/' in html
        assert 'href="/admin/' not in html, page


def test_a_stray_payment_is_looked_at_and_moved_only_by_its_own_transition(
    story: Story, browser: Client, payments: Any
) -> None:
    order = story.paid()
    stray = create(
        StrayPayment(order=order, payment_ref="pay_x", amount_cents=1, currency="EUR", reason="too much"), actor=SYSTEM
    )
    payments.trouble = [Exception("away")] * 3
    story.kit.run_due(retries=True)
    page = f"/admin/orders/straypayment/{stray.pk}"
    assert "Retry refund" in text(browser.get(f"{page}/change/"))
    stray.refresh_from_db()
    data = {"version": stray.lifecycle.version, "key": "k"}
    assert browser.post(f"{page}/lifecycle/stray_payments/retry_refund/", data).status_code == 302
    story.kit.run_due()
    stray.refresh_from_db()
    assert stray.status == "refunded"
