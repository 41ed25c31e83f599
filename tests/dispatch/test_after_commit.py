"""Wake-ups: one per transaction and queue, after the commit, gone with what is rolled back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import transaction
from django.test import TestCase

from lifecycle import dispatch
from lifecycle.dispatch.after_commit import wake
from lifecycle.dispatch.recording import RecordingDispatcher


@pytest.fixture
def recorder() -> Iterator[RecordingDispatcher]:
    with dispatch.replaced(RecordingDispatcher()) as recorder:
        yield recorder


class Undo(Exception):
    pass


@pytest.mark.django_db(transaction=True)
class TestWake:
    def test_a_transaction_wakes_each_queue_once_and_only_after_its_commit(self, recorder: RecordingDispatcher) -> None:
        """django-tasks #189: the row with the data, the wake-up after it."""
        with transaction.atomic():
            for _ in range(3):
                wake("default", ["default", "mail", "default"])
            with transaction.atomic():
                wake("default", ["default"])
            assert recorder.published == []
        assert recorder.published == ["default", "mail"]

    def test_the_next_transaction_wakes_again(self, recorder: RecordingDispatcher) -> None:
        for _ in range(2):
            with transaction.atomic():
                wake("default", ["default"])
        assert recorder.published == ["default", "default"]

    def test_a_rolled_back_transaction_wakes_nobody_and_the_next_one_does(self, recorder: RecordingDispatcher) -> None:
        with pytest.raises(Undo), transaction.atomic():
            wake("default", ["default"])
            raise Undo
        assert recorder.published == []
        with transaction.atomic():
            wake("default", ["default"])
        assert recorder.published == ["default"]

    def test_a_rolled_back_savepoint_does_not_silence_what_follows_it(self, recorder: RecordingDispatcher) -> None:
        with transaction.atomic():
            with pytest.raises(Undo), transaction.atomic():
                wake("default", ["default"])
                raise Undo
            wake("default", ["default"])
        assert recorder.published == ["default"]

    def test_a_rolled_back_savepoint_takes_only_its_own_wake_ups(self, recorder: RecordingDispatcher) -> None:
        with transaction.atomic():
            wake("default", ["default"])
            with pytest.raises(Undo), transaction.atomic():
                wake("default", ["default", "mail"])
                raise Undo
        assert recorder.published == ["default"]

    def test_the_callbacks_of_others_are_left_alone_and_a_failing_one_hides_no_wake_up(
        self, recorder: RecordingDispatcher
    ) -> None:
        class Broken:
            def publish(self, queue: str) -> bool:
                raise RuntimeError("a dispatcher that breaks its contract")

        heard: list[str] = []
        with transaction.atomic():
            transaction.on_commit(lambda: heard.append("before"))
            wake("default", ["default"])
            transaction.on_commit(lambda: heard.append("after"))
        assert heard == ["before", "after"]
        with dispatch.replaced(Broken()), transaction.atomic():
            wake("default", ["default"])
            transaction.on_commit(lambda: heard.append("still"))
        assert heard[-1] == "still"

    def test_a_thousand_transitions_read_the_list_once(self, recorder: RecordingDispatcher) -> None:
        connection = transaction.get_connection()
        with transaction.atomic():
            for number in range(1000):
                transaction.on_commit(lambda: None)
                wake("default", ["default"])
                if number == 0:
                    remembered = connection._lifecycle_wake_ups
            assert connection._lifecycle_wake_ups is remembered
        assert recorder.published == ["default"]


class CapturedTests(TestCase):
    def test_each_captured_block_of_one_test_wakes(self) -> None:
        """Django PR #12944, #14796, #15285: callbacks that a test can see."""
        with dispatch.replaced(RecordingDispatcher()) as recorder:
            for _ in range(2):
                with self.captureOnCommitCallbacks(execute=True):
                    wake("default", ["default"])
        assert recorder.published == ["default", "default"]
