"""Rules that the page's sources follow: text stays text, and what people read stands in the files of words."""

import re
from pathlib import Path

import pytest

from lightwell.entrypoints.http import page

WEB = Path(__file__).parents[2] / "web"
SOURCES = [
    path
    for path in sorted((WEB / "src").rglob("*"))
    if path.suffix in {".svelte", ".ts", ".css"} and path.name != "schema.d.ts"
]
MARKUP = (
    r"\{@html",
    r"\.(inner|outer)HTML\s*\+?=[^=]",
    r"insertAdjacentHTML|createContextualFragment|DOMParser|srcdoc",
    r"document\.write",
    r"\beval\(|new Function\(",
    r"\bstyle=\"",
    r"setAttribute\('style'",
)
"""What would make markup, a program or a style of a text."""


def test_there_are_sources() -> None:
    assert len(SOURCES) > 20


@pytest.mark.parametrize("pattern", MARKUP)
def test_no_text_becomes_markup(pattern: str) -> None:
    wrong = [path.name for path in SOURCES if re.search(pattern, path.read_text("utf-8"))]
    assert not wrong


def test_the_server_answers_the_address_of_every_screen() -> None:
    text = (WEB / "src/screens/index.ts").read_text("utf-8")
    listed = text.partition("export const screens")[2].partition("};")[0]
    screens = re.findall(r"^  (?:'(\w*)'|(\w+)): ", listed, re.M)
    named = {quoted or plain for quoted, plain in screens} | {"sign-in"}
    assert named == {address.split("/")[1] for address in page.ADDRESSES}


def test_no_source_names_a_foreign_host() -> None:
    named = {
        f"{path.name}: {address}"
        for path in SOURCES
        for address in re.findall(r"(?:https?:)?//[a-z0-9-]+\.[a-z][\w./-]*", _code(path))
    }
    assert not named


def test_a_link_to_a_foreign_host_tells_it_nothing_of_this_page() -> None:
    """Every link that opens in a window of its own, or goes where a text says, has `rel="noopener noreferrer"`."""
    tags = [
        (path.name, tag)
        for path in SOURCES
        for tag in re.findall(r"<a\b[^>]*target=[^>]*>", path.read_text("utf-8"))
    ]
    assert not [each for each in tags if 'rel="noopener noreferrer"' not in each[1]]


def test_each_package_is_of_one_version_and_names_no_registry() -> None:
    lock = (WEB / "package-lock.json").read_text("utf-8")
    assert '"resolved"' not in lock
    described = (WEB / "package.json").read_text("utf-8")
    assert not re.search(r'": "[~^<>*]', described)


def _code(path: Path) -> str:
    """Return a source without its comments, which may name what explains them."""
    text = path.read_text("utf-8")
    return re.sub(r"/\*.*?\*/|<!--.*?-->|^\s*//.*$|\s// .*$", "", text, flags=re.S | re.M)
