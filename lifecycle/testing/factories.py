"""LifecycleFactoryMixin: factory_boy factories whose records begin in any state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lifecycle.models import writes

if TYPE_CHECKING:
    from factory.django import DjangoModelFactory

    _Base = DjangoModelFactory[Any]
else:
    _Base = object


class LifecycleFactoryMixin(_Base):
    """Put before ``DjangoModelFactory``: ``OrderFactory(status="paid")`` works, ``OrderFactory()`` begins as usual.

    The record has no history; fire transitions where a test needs one.
    """

    @classmethod
    def _create(cls, model_class: Any, *args: Any, **kwargs: Any) -> Any:
        with writes.creation_in_any_state():
            return super()._create(model_class, *args, **kwargs)  # type: ignore[no-untyped-call]
