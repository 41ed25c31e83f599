"""A record whose process has more states than one picture can show."""

from __future__ import annotations

from django.db import models

from lifecycle.models import LifecycleModel, StateField


class Claim(LifecycleModel):
    """What a customer asks of an insurance: forty states from the report to the end."""

    class Status(models.TextChoices):
        REPORTED = "reported", "Reported"
        REGISTERED = "registered", "Registered"
        DUPLICATE = "duplicate", "Duplicate"
        COVER_CHECK = "cover_check", "Cover being checked"
        COVER_UNCLEAR = "cover_unclear", "Cover unclear"
        NOT_COVERED = "not_covered", "Not covered"
        ASSIGNED = "assigned", "Assigned"
        CONTACTED = "contacted", "Customer contacted"
        DOCUMENTS_ASKED = "documents_asked", "Documents asked for"
        DOCUMENTS_LATE = "documents_late", "Documents late"
        DOCUMENTS_IN = "documents_in", "Documents in"
        TRIAGE = "triage", "Triage"
        FAST_TRACK = "fast_track", "Fast track"
        EXPERT_WANTED = "expert_wanted", "Expert wanted"
        EXPERT_BOOKED = "expert_booked", "Expert booked"
        EXPERT_VISITED = "expert_visited", "Expert has visited"
        EXPERT_REPORT = "expert_report", "Expert has reported"
        ESTIMATE = "estimate", "Estimate"
        ESTIMATE_DOUBTED = "estimate_doubted", "Estimate doubted"
        SECOND_OPINION = "second_opinion", "Second opinion"
        FRAUD_SUSPECTED = "fraud_suspected", "Fraud suspected"
        INVESTIGATION = "investigation", "Investigation"
        FRAUD_FOUND = "fraud_found", "Fraud found"
        LIABILITY_CHECK = "liability_check", "Liability being checked"
        LIABILITY_SHARED = "liability_shared", "Liability shared"
        OFFER_DRAFT = "offer_draft", "Offer being written"
        OFFER_APPROVAL = "offer_approval", "Offer to approve"
        OFFER_SENT = "offer_sent", "Offer sent"
        OFFER_REFUSED = "offer_refused", "Offer refused"
        NEGOTIATION = "negotiation", "Negotiation"
        SETTLED = "settled", "Settled"
        PAYMENT_ORDERED = "payment_ordered", "Payment ordered"
        PAYMENT_FAILED = "payment_failed", "Payment failed"
        PAID = "paid", "Paid"
        RECOURSE = "recourse", "Recourse"
        RECOURSE_WON = "recourse_won", "Recourse won"
        RECOURSE_LOST = "recourse_lost", "Recourse lost"
        REOPENED = "reopened", "Reopened"
        CLOSED = "closed", "Closed"
        WITHDRAWN = "withdrawn", "Withdrawn"

    status = StateField(Status)

    class Meta:
        indexes = [models.Index(fields=["status", "status_changed_at"], name="cases_claim_due")]
