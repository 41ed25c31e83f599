"""Picture: a PNG of a page that carries the words it shows, to tell when the page says something else."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

IMAGES = Path(__file__).parents[2] / "docs" / "images"
SCRIPT = (Path(__file__).parent / "picture.js").read_text()
SIGNATURE = b"\x89PNG\r\n\x1a\n"
KEYWORD = b"Words"


@dataclass(frozen=True, kw_only=True)
class Picture:
    """The bytes of a PNG, and the words that could be read on the page when it was made."""

    png: bytes
    words: str

    @classmethod
    def committed(cls, name: str) -> Picture | None:
        path = IMAGES / f"{name}.png"
        if not path.exists():
            return None
        png = path.read_bytes()
        found = [body for kind, body in _chunks(png) if kind == b"iTXt" and body.startswith(KEYWORD + b"\0")]
        # After the keyword: compressed or not, the method, a language and a translated keyword (both empty).
        words = zlib.decompress(found[0][len(KEYWORD) + 5 :]).decode() if found else ""
        return cls(png=png, words=words)

    @classmethod
    def of(
        cls, page: Any, *parts: str, frame: tuple[str, ...] = (), edge: str = "", masks: Mapping[str, str] | None = None
    ) -> Picture:
        """Takes the picture of these parts of a page.

        Args:
            parts: selectors; their words are what the picture says.
            frame: selectors of what is to be seen, where that is more or less than the parts.
            edge: the selector of the part at whose right the picture ends, where others are wider.
            masks: what differs from run to run, as patterns, and what stands there instead.
        """
        asked(page, "mask", list((masks or {}).items()))
        clip = asked(page, "frame", [frame or parts, edge, 12])
        return cls(
            png=page.screenshot(clip=clip, full_page=True, animations="disabled"), words=asked(page, "words", parts)
        )

    def save(self, name: str, blank: Any) -> None:
        """Writes it with a palette, which makes it a third as large; ``blank`` is a page that may run scripts."""
        IMAGES.mkdir(exist_ok=True)
        (IMAGES / f"{name}.png").write_bytes(
            b"".join([SIGNATURE, *self._written(asked(blank, "indexed", _text(self.png)))])
        )

    def _written(self, indexed: Any) -> Iterator[bytes]:
        width, height = indexed["width"], indexed["height"]
        pixels = base64.b64decode(indexed["pixels"])
        rows = b"".join(b"\0" + pixels[at : at + width] for at in range(0, len(pixels), width))
        yield _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0))
        yield _chunk(b"PLTE", bytes(indexed["palette"]))
        yield _chunk(b"iTXt", KEYWORD + b"\0\1\0\0\0" + zlib.compress(self.words.encode(), 9))
        yield _chunk(b"IDAT", zlib.compress(rows, 9))
        yield _chunk(b"IEND", b"")

    def differs_from(self, fresh: Picture, blank: Any) -> float:
        """How far the two are apart when looked at from afar, from 0 to 1."""
        apart: float = asked(blank, "difference", [_text(self.png), _text(fresh.png)])
        return apart


def asked(page: Any, what: str, argument: Any) -> Any:
    """Has the page run one of the functions of picture.js."""
    return page.evaluate(f"argument => ({SCRIPT}).{what}(argument)", argument)


def _text(png: bytes) -> str:
    return base64.b64encode(png).decode()


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def _chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = len(SIGNATURE)
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        yield png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        at += length + 12
