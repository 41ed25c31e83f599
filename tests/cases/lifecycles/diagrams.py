"""A process with more states than one picture can show."""

from __future__ import annotations

from datetime import timedelta

from lifecycle import ANY, Lifecycle, Timeout, Transition
from tests.cases.models.diagrams import Claim

S = Claim.Status


class ClaimLifecycle(Lifecycle[Claim]):
    class Meta:
        model = Claim
        name = "claims"
        initial = S.REPORTED
        final = [S.DUPLICATE, S.NOT_COVERED, S.FRAUD_FOUND, S.CLOSED, S.WITHDRAWN]

    register = Transition(S.REPORTED, S.REGISTERED, manual=False)
    known_already = Transition([S.REPORTED, S.REGISTERED], S.DUPLICATE)
    check_cover = Transition(S.REGISTERED, S.COVER_CHECK)
    ask_underwriter = Transition(S.COVER_CHECK, S.COVER_UNCLEAR)
    underwriter_answered = Transition(S.COVER_UNCLEAR, S.COVER_CHECK, manual=False)
    decline_cover = Transition([S.COVER_CHECK, S.COVER_UNCLEAR], S.NOT_COVERED)
    assign = Transition([S.COVER_CHECK, S.REOPENED], S.ASSIGNED)
    contact = Transition(S.ASSIGNED, S.CONTACTED)
    ask_documents = Transition(S.CONTACTED, S.DOCUMENTS_ASKED)
    remind = Transition(S.DOCUMENTS_ASKED, S.DOCUMENTS_LATE, manual=False)
    documents_came = Transition([S.DOCUMENTS_ASKED, S.DOCUMENTS_LATE], S.DOCUMENTS_IN, manual=False)
    sort_out = Transition([S.CONTACTED, S.DOCUMENTS_IN], S.TRIAGE)
    go_fast = Transition(S.TRIAGE, S.FAST_TRACK)
    want_expert = Transition([S.TRIAGE, S.FAST_TRACK], S.EXPERT_WANTED)
    book_expert = Transition(S.EXPERT_WANTED, S.EXPERT_BOOKED)
    expert_came = Transition(S.EXPERT_BOOKED, S.EXPERT_VISITED)
    expert_cancelled = Transition(S.EXPERT_BOOKED, S.EXPERT_WANTED)
    expert_reported = Transition(S.EXPERT_VISITED, S.EXPERT_REPORT, manual=False)
    estimate = Transition([S.FAST_TRACK, S.EXPERT_REPORT, S.SECOND_OPINION], S.ESTIMATE)
    doubt = Transition(S.ESTIMATE, S.ESTIMATE_DOUBTED)
    ask_again = Transition(S.ESTIMATE_DOUBTED, S.SECOND_OPINION)
    suspect = Transition([S.TRIAGE, S.EXPERT_REPORT, S.ESTIMATE_DOUBTED], S.FRAUD_SUSPECTED)
    investigate = Transition(S.FRAUD_SUSPECTED, S.INVESTIGATION)
    clear = Transition(S.INVESTIGATION, S.ESTIMATE)
    prove_fraud = Transition(S.INVESTIGATION, S.FRAUD_FOUND)
    check_liability = Transition(S.ESTIMATE, S.LIABILITY_CHECK)
    share_liability = Transition(S.LIABILITY_CHECK, S.LIABILITY_SHARED)
    write_offer = Transition([S.LIABILITY_CHECK, S.LIABILITY_SHARED, S.NEGOTIATION], S.OFFER_DRAFT)
    hand_in = Transition(S.OFFER_DRAFT, S.OFFER_APPROVAL)
    send_back = Transition(S.OFFER_APPROVAL, S.OFFER_DRAFT)
    send_offer = Transition(S.OFFER_APPROVAL, S.OFFER_SENT)
    refuse_offer = Transition(S.OFFER_SENT, S.OFFER_REFUSED, manual=False)
    negotiate = Transition(S.OFFER_REFUSED, S.NEGOTIATION)
    accept_offer = Transition(S.OFFER_SENT, S.SETTLED, manual=False)
    order_payment = Transition([S.SETTLED, S.PAYMENT_FAILED], S.PAYMENT_ORDERED)
    payment_bounced = Transition(S.PAYMENT_ORDERED, S.PAYMENT_FAILED, manual=False)
    payment_made = Transition(S.PAYMENT_ORDERED, S.PAID, manual=False)
    take_recourse = Transition(S.PAID, S.RECOURSE)
    win_recourse = Transition(S.RECOURSE, S.RECOURSE_WON)
    lose_recourse = Transition(S.RECOURSE, S.RECOURSE_LOST)
    close = Transition([S.PAID, S.RECOURSE_WON, S.RECOURSE_LOST], S.CLOSED)
    reopen = Transition(S.PAID, S.REOPENED)
    withdraw = Transition(ANY, S.WITHDRAWN)

    documents_due = Timeout(remind, when=S.DOCUMENTS_ASKED, after=timedelta(days=14))
