"""E-books (EPUB 2 and 3): the chapters in their order of reading, each read as the web page that it is.

Pictures, the cover and the table of contents are left out; a chapter without a heading has the one that the contents give it.
"""

from collections.abc import Mapping, Sequence

from lightwell.domain.documents import ParsedDocument
from lightwell.domain.errors import Unreadable
from lightwell.ingest.parse import html
from lightwell.ingest.parse._builder import Builder
from lightwell.ingest.parse._package import (
    DC,
    Element,
    Package,
    broken,
    date_of,
    open_package,
    resolve,
    value_of,
)
from lightwell.ingest.parse._text import one_line

_CONTAINER = "{urn:oasis:names:tc:opendocument:xmlns:container}"
_OPF = "{http://www.idpf.org/2007/opf}"
_NCX = "{http://www.daisy.org/z3986/2005/ncx/}"
_REFERENCE = "{http://www.w3.org/2001/04/xmlenc#}CipherReference"
_NCX_TYPE = "application/x-dtbncx+xml"
_PAGES = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml")
_HEADINGS = "h1,h2,h3,h4,h5,h6"


def parse(content: bytes, *, name: str = "") -> ParsedDocument:
    """Return the document; it has no pages, because the displaying program computes them."""
    package = open_package(content, "e-book")
    container = package.xml("META-INF/container.xml")
    files = container.iter(f"{_CONTAINER}rootfile") if container is not None else ()
    main = next((file.get("full-path") or "" for file in files), "")
    book = package.xml(main)
    if book is None:
        raise broken(package.what)
    items = {item.get("id") or "": item for item in book.iter(f"{_OPF}item")}
    spine = (items.get(part.get("idref") or "") for part in book.iter(f"{_OPF}itemref"))
    # Each chapter once: a list that names one a thousand times would be as long as a thousand.
    chapters = dict.fromkeys(
        resolve(main, item.get("href") or "")
        for item in spine
        if item is not None and item.get("media-type") in _PAGES and not _is_contents(item)
    )
    _refuse_locked(package, [*chapters])
    labels = _labels(package, main, [*items.values()])
    builder = Builder()
    for chapter in chapters:
        if page := package.read(chapter):
            _add_chapter(builder, page, labels.get(chapter, ""))
    return ParsedDocument(
        text=builder.text(),
        title=value_of(book, f"{DC}title"),
        author=", ".join(filter(None, map(_line, book.iter(f"{DC}creator")))),
        sections=builder.sections(),
        pages=(),
        spans=builder.spans(),
        updated_at=date_of(book, f"{DC}date"),
    )


def _add_chapter(builder: Builder, page: bytes, label: str) -> None:
    tree = html.read_tree(page)
    if tree.css_first(_HEADINGS) is None:
        builder.add_heading(label, 1)
    html.write_body(builder, tree)


def _is_contents(item: Element) -> bool:
    return "nav" in (item.get("properties") or "").split()


def _refuse_locked(package: Package, chapters: Sequence[str]) -> None:
    """Raise `Unreadable` where chapters are encrypted; fonts may be, and are in many books."""
    root = package.xml("META-INF/encryption.xml")
    for node in root.iter(_REFERENCE) if root is not None else ():
        if resolve("", node.get("URI") or "") in chapters:
            raise Unreadable("encrypted", "it is locked by its seller (DRM); use an unlocked copy")


def _labels(package: Package, main: str, items: Sequence[Element]) -> Mapping[str, str]:
    """Return the title that the contents give to each chapter."""
    labels: dict[str, str] = {}
    for item in items:
        name = resolve(main, item.get("href") or "")
        if _is_contents(item):
            for link in html.read_tree(package.read(name)).css("nav a"):
                target = resolve(name, link.attributes.get("href") or "")
                labels.setdefault(target, one_line(link.text()))
        elif item.get("media-type") == _NCX_TYPE and (root := package.xml(name)) is not None:
            for point in root.iter(f"{_NCX}navPoint"):
                label = point.find(f"{_NCX}navLabel/{_NCX}text")
                target = point.find(f"{_NCX}content")
                if label is not None and target is not None:
                    labels.setdefault(resolve(name, target.get("src") or ""), _line(label))
    return labels


def _line(node: Element) -> str:
    return one_line(node.text or "")
