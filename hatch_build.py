"""Build hook: what an index shows of the README, and the project's addresses once it has a published home."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"\[([^\]]+)\]\((?!\w+:|#)([^)\s]+)\)")
# Light and dark. An index shows only the light one: none of them renders the element, and not all of them are dark.
PICTURE = re.compile(
    r'<picture>.*?<img src="(?P<path>[^"]+)" alt="(?P<alt>[^"]*)"(?P<size>[^>]*)>.*?</picture>', re.DOTALL
)
BESIDE = "The pages named here are part of the source distribution."


class ReadableAnywhere(MetadataHookInterface):
    """A README's relative links lead nowhere on an index: they become absolute, or the names of files in the sdist.

    So do its pictures.
    """

    def update(self, metadata: dict[str, Any]) -> None:
        address = self.config.get("address", "").rstrip("/")
        readme = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": described(readme, address)}
        metadata["urls"] = urls(address)


def described(readme: str, address: str) -> str:
    """The README for an index; ``address`` is where its repository's files can be read, or empty."""
    if address:
        files = address.replace("/blob/", "/raw/")
        readme = PICTURE.sub(rf'<img src="{files}/\g<path>" alt="\g<alt>"\g<size>>', readme)
        return LINK.sub(rf"[\1]({address}/\2)", readme)
    readme = PICTURE.sub(r"(Picture: `\g<path>`)", readme)
    return LINK.sub(r"\1 (`\2`)", readme.replace("## Read on\n", f"## Read on\n\n{BESIDE}\n"))


def urls(address: str) -> dict[str, str]:
    """The project's addresses; none while there is no home to name."""
    if not address:
        return {}
    pages = {"Documentation": "docs/tutorial.md", "Changelog": "CHANGELOG.md", "Security": "SECURITY.md"}
    return {"Source": address, **{name: f"{address}/{path}" for name, path in pages.items()}}
