"""Files of other programs, written by hand: what PowerPoint, LibreOffice and makers of e-books write, without what no test needs."""

import io
import zipfile
from collections.abc import Mapping

_A = "http://schemas.openxmlformats.org/drawingml/2006/main"
_P = "http://schemas.openxmlformats.org/presentationml/2006/main"
_R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_RELATED = "http://schemas.openxmlformats.org/package/2006/relationships"
_OASIS = "urn:oasis:names:tc:opendocument:xmlns"
_ODF = " ".join(
    f'xmlns:{short}="{_OASIS}:{name}:1.0"'
    for short, name in {
        "office": "office",
        "text": "text",
        "table": "table",
        "draw": "drawing",
        "style": "style",
        "presentation": "presentation",
        "meta": "meta",
    }.items()
)
_DC = 'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/"'


def zipped(members: Mapping[str, str | bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def relationships(**related: tuple[str, str]) -> str:
    """Return the part of an Office file that says by ids to what another one refers: types and targets."""
    parts = (
        f'<Relationship Id="{id}" Type="{_R}/{kind}" Target="{target}"/>'
        for id, (kind, target) in related.items()
    )
    return f'<Relationships xmlns="{_RELATED}">{"".join(parts)}</Relationships>'


def paragraphs(text: str) -> str:
    return "".join(f"<a:p><a:r><a:t>{line}</a:t></a:r></a:p>" for line in text.split("\n"))


def shape(text: str, role: str = "") -> str:
    """Return a shape of a slide: `role` is the type of its placeholder."""
    placeholder = f'<p:ph type="{role}"/>' if role else ""
    return (
        f"<p:sp><p:nvSpPr><p:nvPr>{placeholder}</p:nvPr></p:nvSpPr>"
        f"<p:txBody>{paragraphs(text)}</p:txBody></p:sp>"
    )


def slide_table(*rows: str) -> str:
    """Return a table of a slide, of rows of cells with bars between them."""
    cells = (
        "".join(f"<a:tc><a:txBody>{paragraphs(cell)}</a:txBody></a:tc>" for cell in row.split("|"))
        for row in rows
    )
    table = "".join(f"<a:tr>{row}</a:tr>" for row in cells)
    return f"<p:graphicFrame><a:graphic><a:graphicData><a:tbl>{table}</a:tbl></a:graphicData></a:graphic></p:graphicFrame>"


def slide(*shapes: str, root: str = "sld") -> str:
    return (
        f'<p:{root} xmlns:p="{_P}" xmlns:a="{_A}" xmlns:r="{_R}">'
        f"<p:cSld><p:spTree>{''.join(shapes)}</p:spTree></p:cSld></p:{root}>"
    )


def powerpoint(*slides: str, notes: Mapping[int, str] | None = None, title: str = "") -> bytes:
    """Return a presentation of these slides, with what the speaker noted by the number of the slide."""
    ids = "".join(f'<p:sldId id="{256 + n}" r:id="rId{n}"/>' for n in range(1, len(slides) + 1))
    members: dict[str, str | bytes] = {
        "ppt/presentation.xml": f'<p:presentation xmlns:p="{_P}" xmlns:r="{_R}"><p:sldIdLst>{ids}</p:sldIdLst></p:presentation>',
        "ppt/_rels/presentation.xml.rels": relationships(
            **{f"rId{n}": ("slide", f"slides/s{n}.xml") for n in range(len(slides), 0, -1)}
        ),
        "docProps/core.xml": f"<core {_DC}><dc:title>{title}</dc:title><dc:creator>Ada Park</dc:creator>"
        "<dcterms:modified>2026-03-04T05:06:07Z</dcterms:modified></core>",
    }
    for number, content in enumerate(slides, start=1):
        members[f"ppt/slides/s{number}.xml"] = content
    for number, text in (notes or {}).items():
        members[f"ppt/notesSlides/n{number}.xml"] = slide(
            shape(str(number), "sldNum"), shape(text, "body"), root="notes"
        )
        members[f"ppt/slides/_rels/s{number}.xml.rels"] = relationships(
            rId1=("notesSlide", f"../notesSlides/n{number}.xml")
        )
    return zipped(members)


def opendocument(body: str, *, styles: str = "", title: str = "", kind: str = "text") -> bytes:
    """Return an OpenDocument file with this body; `kind` is text or presentation."""
    return zipped(
        {
            "mimetype": f"application/vnd.oasis.opendocument.{kind}",
            "content.xml": f"<office:document-content {_ODF}><office:automatic-styles>{styles}</office:automatic-styles>"
            f"<office:body><office:{kind}>{body}</office:{kind}></office:body></office:document-content>",
            "meta.xml": f"<office:document-meta {_ODF} {_DC}><office:meta><dc:title>{title}</dc:title>"
            "<meta:initial-creator>Ada Park</meta:initial-creator><dc:date>2026-03-04T05:06:07.123456789</dc:date>"
            "</office:meta></office:document-meta>",
        }
    )


def epub(
    *chapters: str,
    contents: Mapping[int, str] | None = None,
    more: Mapping[str, str] | None = None,
) -> bytes:
    """Return an e-book of chapters, the bodies of pages, with titles in its table of contents by their numbers, and `more` members."""
    numbers = range(1, len(chapters) + 1)
    items = "".join(
        f'<item id="c{n}" href="text/c%20{n}.xhtml" media-type="application/xhtml+xml"/>'
        for n in reversed(numbers)
    )
    links = "".join(
        f'<li><a href="text/c%20{n}.xhtml#top">{label}</a></li>'
        for n, label in (contents or {}).items()
    )
    page = '<html xmlns="http://www.w3.org/1999/xhtml"><head><title/></head><body>{}</body></html>'
    members = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
        '<rootfiles><rootfile full-path="OPS/book.opf"/></rootfiles></container>',
        "OPS/book.opf": f'<package xmlns="http://www.idpf.org/2007/opf"><metadata {_DC}>'
        "<dc:title>The pump book</dc:title><dc:creator>Ada Park</dc:creator><dc:creator>Bo Lund</dc:creator>"
        '<dc:date>2026-03-04</dc:date></metadata><manifest><item id="nav" href="nav.xhtml" properties="nav"'
        f' media-type="application/xhtml+xml"/>{items}</manifest><spine><itemref idref="nav"/>'
        + "".join(f'<itemref idref="c{n}"/>' for n in numbers)
        + "</spine></package>",
        "OPS/nav.xhtml": page.format(f"<nav>{links}</nav>"),
        **{f"OPS/text/c {n}.xhtml": page.format(chapters[n - 1]) for n in numbers},
        **(more or {}),
    }
    return zipped(members)
