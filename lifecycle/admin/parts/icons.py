"""Icon: a small picture in the colour of the text beside it."""

from __future__ import annotations

from django.utils.html import format_html
from django.utils.safestring import SafeString

# 16 × 16, drawn with the text's colour. Whole in each place: no sprite has to be on the page, no request is made.
ICONS = {
    "bolt": "M9.2 1.8 4 9h3.6l-.8 5.2L12 7H8.4Z",
    "check": "M3 8.6 6.3 12 13 4.6",
    "clock": "M8 2.2a5.8 5.8 0 1 0 .01 0ZM8 4.8V8l2.3 1.7",
    "cog": "M8 5.2a2.8 2.8 0 1 0 .01 0ZM8 1.6v2M8 12.4v2M1.6 8h2M12.4 8h2M3.5 3.5l1.4 1.4M11.1 11.1l1.4 1.4M3.5 12.5"
    "l1.4-1.4M11.1 4.9l1.4-1.4",
    "cross": "M4 4l8 8M12 4l-8 8",
    "dot": "M8 5.4a2.6 2.6 0 1 0 .01 0Z",
    "down": "M8 2.6v9.8M4 8.6l4 4 4-4",
    "flag": "M4 14.2V2.2M4 2.8h8.4l-2.2 2.9 2.2 2.9H4",
    "glass": "M4 2.2h8M4 13.8h8M5 2.2c0 3.2 3 4 3 5.8s-3 2.6-3 5.8M11 2.2c0 3.2-3 4-3 5.8s3 2.6 3 5.8",
    "half": "M8 2.6a5.4 5.4 0 1 0 .01 0Z",
    "machine": "M2.4 3.6h11.2v8H2.4ZM5 14h6M5.2 6.4l1.8 1.6-1.8 1.6M8.6 9.6h2.2",
    "refresh": "M13.4 8a5.4 5.4 0 1 1-1.7-3.9M13.6 1.8v3.4h-3.4",
    "ring": "M8 2.6a5.4 5.4 0 1 0 .01 0Z",
    "slash": "M8 2.6a5.4 5.4 0 1 0 .01 0ZM4.4 11.6l7.2-7.2",
    "stop": "M8 2.2a5.8 5.8 0 1 0 .01 0ZM5 8h6",
    "user": "M8 2.6a2.8 2.8 0 1 0 .01 0ZM2.8 13.8c.5-2.8 2.6-4.2 5.2-4.2s4.7 1.4 5.2 4.2",
    "warn": "M8 2.2 14.6 13.6H1.4ZM8 6.6v3.2M8 11.7v.1",
}


FILLED = {"half": "M8 2.6a5.4 5.4 0 0 1 0 10.8Z", "dot": ICONS["dot"]}


def icon(name: str) -> SafeString:
    """One icon; hidden from screen readers, the words beside it say the same."""
    filled = format_html('<path class="lc-fill" d="{}"/>', FILLED[name]) if name in FILLED else ""
    return format_html(
        '<svg class="lc-icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false"><path d="{}"/>{}</svg>',
        ICONS[name],
        filled,
    )
