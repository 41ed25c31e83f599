"""Styles: the two stylesheets that every page of ours loads."""

from __future__ import annotations

from django import forms

STYLES = forms.Media(css={"all": ["lifecycle/diagram.css", "lifecycle/admin.css"]})
