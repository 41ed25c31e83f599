"""Forms: what transitions are given."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext_lazy as _


class ShipForm(forms.Form):
    """Who carries the parcel, and its number; the input of the transition `ship`."""

    carrier = forms.ChoiceField(
        label=_("Carrier"), choices=[("DHL", "DHL"), ("UPS", "UPS"), ("Post", _("Post")), ("Pickup", _("Pickup"))]
    )
    tracking_number = forms.CharField(
        label=_("Tracking number"), max_length=50, help_text=_("As printed on the label; sent to the customer.")
    )
