"""Form: what people fill in to create an order."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from django import forms
from django.utils.translation import gettext_lazy as _

from orders.models import Order

if TYPE_CHECKING:
    OrderForm = forms.ModelForm[Order]
else:
    OrderForm = forms.ModelForm  # Django's class takes no type when the program runs


class NewOrderForm(OrderForm):
    """A new order, with the demo's two failure switches."""

    amount = forms.DecimalField(
        label=_("Amount"),
        min_value=Decimal("0.01"),
        max_value=Decimal("999999.99"),
        decimal_places=2,
        initial=Decimal("48.00"),
        localize=True,
        widget=forms.TextInput(attrs={"inputmode": "decimal"}),
    )

    class Meta:
        model = Order
        fields = ["customer", "title", "currency", "fail_checkouts", "fail_refunds"]
        help_texts = {
            "fail_checkouts": _("The provider answers this many checkouts with an error first. Three tries are made."),
            "fail_refunds": _("The same for refunds."),
        }

    field_order = ["customer", "title", "amount", "currency", "fail_checkouts", "fail_refunds"]

    def order(self) -> Order:
        """The order as filled in, not saved: creating is the runtime's."""
        order: Order = self.instance
        order.amount_cents = int(self.cleaned_data["amount"] * 100)
        return order

    def clean_fail_checkouts(self) -> Any:
        return self._at_most_ten("fail_checkouts")

    def clean_fail_refunds(self) -> Any:
        return self._at_most_ten("fail_refunds")

    def _at_most_ten(self, name: str) -> Any:
        value = self.cleaned_data[name]
        if value is not None and value > 10:
            raise forms.ValidationError(_("At most 10."), code="max_value")
        return value
