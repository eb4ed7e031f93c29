"""What is said of a page as it is seen: whether everybody can use it (axe), and a picture of it."""

import os
from pathlib import Path
from typing import Final

from playwright.sync_api import Page

ROOT: Final = Path(__file__).parents[2]
AXE: Final = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
PICTURES: Final = Path(os.environ.get("PICTURES", ROOT / "build" / "pictures"))
"""Where screenshots go; `make pictures` names docs/pictures."""

_MOVES: Final = 30
"""How many pictures are taken at most of what goes on moving."""

_VIOLATIONS: Final = "() => axe.run(document, {resultTypes: ['violations']})"


def axe(page: Page) -> None:
    """Assert that axe finds nothing serious on this page as it is now."""
    page.evaluate(AXE.read_text("utf-8"))
    found = page.evaluate(_VIOLATIONS)
    serious = [
        f"{rule['id']} ({rule['impact']}): {rule['help']}: {node['html']}"
        for rule in found["violations"]
        if rule["impact"] in {"serious", "critical"}
        for node in rule["nodes"]
    ]
    assert not serious, "\n".join(serious)


def screenshot(page: Page, name: str) -> Path:
    """Write what is seen of this page to `name`.png among the pictures, when nothing moves any more; return the path."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    path = PICTURES / f"{name}.png"
    before, now = b"", _picture(page)
    for _ in range(_MOVES):
        before, now = now, _picture(page)
        if now == before:
            break
    path.write_bytes(now)
    return path


def _picture(page: Page) -> bytes:
    return page.screenshot(animations="disabled", caret="hide")
