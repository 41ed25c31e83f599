"""Inlines: a record of a lifecycle that is added on another record's page begins its life as any other."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.test import Client

from lifecycle import SYSTEM
from lifecycle.admin.records.checks import inlines_begin_through_the_runtime
from lifecycle.runtime import create
from tests.cases.inline_site import BookInline, ShelfAdmin
from tests.cases.models.inlines import Book, Shelf

pytestmark = [pytest.mark.django_db, pytest.mark.row("C5")]


@pytest.fixture(autouse=True)
def addresses(settings: Any) -> None:
    settings.ROOT_URLCONF = "tests.cases.inline_site"


def page(*rows: dict[str, Any], name: str = "ada", initial: int = 0) -> dict[str, Any]:
    """An shelf's form with these books."""
    data = {"name": name, "book_set-TOTAL_FORMS": len(rows), "book_set-INITIAL_FORMS": initial}
    for number, row in enumerate(rows):
        data |= {f"book_set-{number}-{key}": value for key, value in row.items()}
    return data


def test_a_row_added_with_its_parent_has_an_entry_and_a_version(admin_client: Client, admin_user: User) -> None:
    answer = admin_client.post("/inline/cases/shelf/add/", page({"title": "Novel"}, {"title": "Water"}))

    assert answer.status_code == 302
    books = list(Book.objects.order_by("id"))
    assert [(one.title, one.status, one.lifecycle_version, one.shelf.name) for one in books] == [  # type: ignore[union-attr]
        ("Novel", "new", 1, "ada"),
        ("Water", "new", 1, "ada"),
    ]
    assert [one.lifecycle.history.get().actor_id for one in books] == [str(admin_user.pk)] * 2


def test_a_row_that_is_there_is_edited_and_its_state_is_not_asked_for(admin_client: Client) -> None:
    shelf = Shelf.objects.create(name="ada")
    book = create(Book(title="Novel", shelf=shelf), actor=SYSTEM)
    address = f"/inline/cases/shelf/{shelf.pk}/change/"

    assert 'name="book_set-0-status"' not in admin_client.get(address).content.decode()
    row = {"id": book.pk, "shelf": shelf.pk, "title": "Fire", "status": "read"}
    assert admin_client.post(address, page(row, initial=1)).status_code == 302

    book.refresh_from_db()
    assert (book.title, book.status, book.lifecycle_version) == ("Fire", "new", 1)


def test_a_refused_row_keeps_the_whole_page_from_being_saved_and_says_why(admin_client: Client) -> None:
    answer = admin_client.post("/inline/cases/shelf/add/", page({"title": "Water"}, {"title": "Comic"}))

    assert answer.status_code == 200
    assert "book: The shelf takes no comics." in answer.content.decode()
    assert not Book.objects.exists()
    assert not Shelf.objects.exists()


def test_a_page_that_would_insert_them_past_the_runtime_is_an_error() -> None:
    class PlainAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
        inlines = [BookInline]

    class ReadOnlyInline(admin.TabularInline):  # type: ignore[type-arg]
        model = Book
        max_num = 0

    class ReadingAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
        inlines = [ReadOnlyInline]

    assert issubclass(ShelfAdmin, admin.ModelAdmin)
    assert inlines_begin_through_the_runtime(None) == []
    sites = [admin.AdminSite(name=name) for name in ("plain", "reading")]
    sites[0].register(Shelf, PlainAdmin)
    sites[1].register(Shelf, ReadingAdmin)

    [problem] = inlines_begin_through_the_runtime(None)

    assert (problem.id, problem.obj) == ("lifecycle.E140", PlainAdmin)
    assert "BookInline adds records of cases.Book" in problem.msg
    assert "class PlainAdmin(lifecycle.admin.LifecycleAdminMixin, admin.ModelAdmin)" in problem.hint
