"""Parses HTML: the visible text of a page, without navigation, scripts and hidden elements."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from selectolax.lexbor import LexborHTMLParser, LexborNode

from lightwell.domain.documents import ParsedDocument
from lightwell.domain.errors import Unreadable
from lightwell.ingest.parse._builder import Builder
from lightwell.ingest.parse._text import collapse_whitespace, decode_as, one_line, parse_datetime
from lightwell.text.regex import regex

MAX_NESTING = 500
"""Browsers stop at about the same depth. The parser's time grows with the square of the depth."""

MAX_ATTRIBUTES = 1_000
"""Attributes per tag; lexbor compares each attribute with all earlier ones."""

_MAX_SCANS_PER_CHARACTER = 4
"""How often, on average, a character may be scanned as part of some tag's attributes."""

_MAX_FORMATTED = 5_000_000
_HIDDEN_TAGS = frozenset(
    """script style noscript template nav footer head iframe object embed svg canvas audio video
    select datalist dialog button""".split()
)
_HIDDEN_ROLES = frozenset(
    "navigation search contentinfo complementary menu menubar toolbar dialog alertdialog doc-toc".split()
)
"""ARIA roles that say of any element what a hidden tag says of itself."""

_NAVIGATION_CLASSES = frozenset(
    "sphinxsidebar footer footer-relations navheader navfooter toc".split()
)
"""Classes by which Sphinx, DocBook and Asciidoctor mark navigation and a page's foot without a role. A table of contents repeats each heading without its text."""

_PERMALINK_SIGNS = frozenset("¶ # § 🔗 \uf0c1".split())

_FOOTNOTE_ROLES = frozenset("note doc-footnote doc-endnote doc-endnotes".split())
"""An `aside` with one of these, as Sphinx writes its footnotes, belongs to the text; others are advertisements and links."""

_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BLOCKS = frozenset(
    """p div section article aside main header ul ol li dl dt dd blockquote figure figcaption address details
    summary form fieldset table tr td th tbody thead tfoot caption hr center body hgroup""".split()
)
_IMPLICITLY_CLOSED = frozenset(
    """p li dt dd tr td th thead tbody tfoot colgroup caption option optgroup rt rp html head body a
    button nobr h1 h2 h3 h4 h5 h6 area base br col embed hr img input link meta source track wbr
    param frame keygen""".split()
)
_VOID = frozenset(
    "area base br col embed frame hr img input keygen link meta param source track wbr".split()
)
_XHTML, _HEAD_CHARACTERS = "http://www.w3.org/1999/xhtml", 2_000
_SELF_CLOSED = regex(r"<([a-zA-Z][\w:-]*+)([^<>]*+)(?<=/)>")
_FORMATTING = frozenset("b big code em font i s small strike strong tt u".split())
_TAG = regex(r"<(/?)([a-zA-Z][^\s/<>]*)|<!--")
_ATTRIBUTE = regex(
    r"""[\s/]*+ =?+ [^\s/>=]*+ (?: \s*+ = \s*+ (?: "[^"]*+"?+ | '[^']*+'?+ | [^\s>"'][^\s>]*+ ) )?+""",
    re.VERBOSE,
)
_COMMENT_END = regex(r"--!?>")
_RAW_END = {name: regex(rf"</{name}(?=[\s/>])", re.I) for name in ("script", "style")}
_TOO_MANY_ATTRIBUTES = (
    f"one of its tags has over {MAX_ATTRIBUTES:,} attributes; save it as simpler HTML"
)
_HIDDEN = regex(r"display\s*:\s*none|visibility\s*:\s*hidden", re.I)
_CHARSET = re.compile(rb"<meta[^>]{1,200}?charset\s*+=\s*+[\"']?\s*+([\w-]+)", re.I)
_SPACE = regex(r"[ \t\r\n\f]+")
_DATE_KEYS = (
    "article:modified_time",
    "last-modified",
    "dcterms.modified",
    "dcterms:modified",
    "date",
    "article:published_time",
)


def parse(content: bytes, *, name: str = "") -> ParsedDocument:
    """Return the document, read as HTML5, with entities decoded."""
    tree = read_tree(content)
    metadata = _metadata(tree)
    builder = Builder()
    write_body(builder, tree)
    title = tree.css_first("title")
    first = tree.css_first("h1")
    return ParsedDocument(
        text=builder.text(),
        title=_node_line(title) or metadata.get("og:title", "") or _node_line(first),
        author=next(
            filter(None, map(metadata.get, ("author", "article:author", "dc:creator"))), ""
        ),
        sections=builder.sections(),
        pages=(),
        spans=builder.spans(),
        updated_at=next(
            filter(None, (parse_datetime(metadata.get(key, "")) for key in _DATE_KEYS)), None
        ),
    )


def read_tree(content: bytes) -> LexborHTMLParser:
    """Return the page as a tree; raise `Unreadable` for one that would take hours."""
    source = _without_svg(_decode(content))
    if _XHTML in source[:_HEAD_CHARACTERS]:
        source = _SELF_CLOSED.sub(_close, source)
    _reject_deep_nesting(source)
    _reject_many_attributes(source)
    return LexborHTMLParser(source)


def write_body(builder: Builder, tree: LexborHTMLParser) -> None:
    """Add the visible text of a page."""
    if tree.body is not None:
        _BlockWriter(builder).through(tree.body)


def _close(tag: re.Match[str]) -> str:
    """Return the two tags that a self-closing one of XHTML stands for: in HTML it would be open."""
    name, attributes = tag.groups()
    return tag[0] if name.lower() in _VOID else f"<{name}{attributes[:-1]}></{name}>"


def parse_table(source: str) -> list[list[str]]:
    """Return the rows of the first table of a piece of HTML; [] without one that holds data."""
    table = read_tree(source.encode("utf-8", errors="replace")).css_first("table")
    return [] if table is None else _data_table_rows(table)


def _decode(content: bytes) -> str:
    declared = _CHARSET.search(content[:2048])
    has_mark = content.startswith((b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf"))
    return decode_as(content, declared[1].decode("ascii") if declared and not has_mark else "")


def _without_svg(source: str) -> str:
    """Return the source without inline SVG, whose self-closing tags would look like deep nesting."""
    parts: list[str] = []
    start = 0
    while (svg := source.find("<svg", start)) >= 0 and (end := source.find("</svg", svg)) >= 0:
        parts.append(source[start:svg])
        start = source.find(">", end) + 1 or len(source)
    return "".join([*parts, source[start:]])


def _reject_deep_nesting(source: str) -> None:
    """Raise `Unreadable` for nesting that would keep the parser busy for hours. The count is an upper bound."""
    unclosed: Counter[str] = Counter()
    depth = formatted = work = 0
    for closing, name in _tags(source):
        if name in _IMPLICITLY_CLOSED:
            work += formatted
        elif not closing:
            unclosed[name] += 1
            depth += 1
            formatted += name in _FORMATTING
        elif unclosed[name]:
            unclosed[name] -= 1
            depth -= 1
            formatted -= name in _FORMATTING
        if depth > MAX_NESTING or work > _MAX_FORMATTED:
            raise Unreadable(
                "broken", f"its tags are nested over {MAX_NESTING} deep; save it as simpler HTML"
            )


def _reject_many_attributes(source: str) -> None:
    """Raise `Unreadable` for too many attributes, because the parser's time grows with their square."""
    budget = _MAX_SCANS_PER_CHARACTER * len(source) + _MAX_FORMATTED
    for tag in _TAG.finditer(source):
        count, position = 0, tag.end()
        while (attribute := _ATTRIBUTE.match(source, position)) and attribute.end() > position:
            count, position = count + 1, attribute.end()
            if count > MAX_ATTRIBUTES:
                raise Unreadable("broken", _TOO_MANY_ATTRIBUTES)
        budget -= position - tag.end()
        if budget < 0:
            raise Unreadable("broken", _TOO_MANY_ATTRIBUTES)


def _tags(source: str) -> Iterator[tuple[bool, str]]:
    skipping = "<math" not in source.lower()  # within MathML a script's text is not just text
    position = 0
    while match := _TAG.search(source, position):
        position = match.end()
        if match[2] is None:
            end = _COMMENT_END.search(source, match.start() + 2)
            position = end.end() if end else len(source)
            continue
        name = match[2].lower()
        yield bool(match[1]), name
        if skipping and not match[1] and name in _RAW_END:
            end = _RAW_END[name].search(source, position)
            position = end.start() if end else len(source)


def _metadata(tree: LexborHTMLParser) -> Mapping[str, str]:
    metadata: dict[str, str] = {}
    for meta in tree.css("meta"):
        attributes = meta.attributes
        key = (
            attributes.get("name")
            or attributes.get("property")
            or attributes.get("http-equiv")
            or ""
        )
        metadata.setdefault(key.lower(), one_line(attributes.get("content") or ""))
    return metadata


def _node_line(node: LexborNode | None) -> str:
    return one_line("".join(_text_parts(node)))


class _BlockWriter:
    """Writes the tree's text as blocks in one pass, without recursion."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self._pending: list[str] = []
        self._in_list = False
        self._item = False

    def through(self, root: LexborNode) -> None:
        for node, entering in _traverse(root, self._consume_whole):
            if node.is_text_node:
                self._pending.append(_SPACE.sub(" ", node.text_content or ""))
            elif node.tag == "br":
                self._pending.append("\n" if entering else "")
            elif node.tag in _BLOCKS:
                self._flush()
                self._item = entering if node.tag == "li" else self._item
        self._flush()

    def _consume_whole(self, node: LexborNode) -> bool:
        """Handle headings, code, formulas and tables with all their descendants; return whether the node was one."""
        tag = node.tag or ""
        if _is_hidden(node):
            return True
        if tag in _HEADINGS:
            self._flush()
            self._builder.add_heading("".join(_text_parts(node)), _HEADINGS[tag])
        elif tag == "pre":
            self._flush()
            self._builder.add_code("".join(_text_parts(node)))
        elif tag == "math":
            self._flush()
            self._builder.add_formula(collapse_whitespace("".join(_text_parts(node))))
        elif tag == "table" and (rows := _data_table_rows(node)):
            self._flush()
            self._builder.add_block("".join(_text_parts(node.css_first("caption"))))
            self._builder.add_table(rows)
        else:
            return False
        self._in_list = False
        return True

    def _flush(self) -> None:
        text = "".join(self._pending)
        self._pending.clear()
        if not text.strip():
            return
        if self._item:
            self._builder.add_item(text, follows=self._in_list)
        else:
            self._builder.add_block(text)
        self._in_list, self._item = self._item, False


def _traverse(
    root: LexborNode, consume_whole: Callable[[LexborNode], bool]
) -> Iterator[tuple[LexborNode, bool]]:
    """Yield each node below the root on entering it, and each element again on leaving it."""
    node = root.first_child
    depth = 1
    while node is not None:
        child = None
        if node.is_text_node:
            yield node, True
        elif node.is_element_node and not consume_whole(node):
            yield node, True
            child = node.first_child
            if child is None:
                yield node, False
        if child is not None:
            node, depth = child, depth + 1
            continue
        while node.next is None:
            node, depth = node.parent, depth - 1
            if node is None or depth == 0:
                return
            yield node, False
        node = node.next


def _text_parts(root: LexborNode | None) -> Iterator[str]:
    """Yield the visible text below a node; blocks and `br` end lines."""
    for node, entering in _traverse(root, _is_hidden) if root is not None else ():
        if node.is_text_node:
            yield node.text_content or ""
        elif node.tag == "br" or (not entering and node.tag in _BLOCKS):
            yield "\n" if node.tag != "br" or entering else ""


def _data_table_rows(table: LexborNode) -> list[list[str]]:
    """Return the cells' texts by row; none for a table that only serves the page layout."""
    if len(table.css("table")) > 1:
        return []
    rows = [
        ["".join(_text_parts(cell)) for cell in _children(row) if cell.tag in ("td", "th")]
        for row in table.css("tr")
    ]
    return rows if max(map(len, rows), default=0) > 1 else []


def _children(node: LexborNode) -> Iterator[LexborNode]:
    child = node.first_child
    while child is not None:
        yield child
        child = child.next


def _is_hidden(node: LexborNode) -> bool:
    tag = node.tag or ""
    if tag in _HIDDEN_TAGS:
        return True
    if tag == "aside" and not any(
        aside.attributes.get("role") in _FOOTNOTE_ROLES
        for aside in (node, *_children(node))
        if aside.tag == "aside"
    ):
        return True
    attributes = node.attributes
    if not attributes:
        return False
    return (
        "hidden" in attributes
        or attributes.get("role") in _HIDDEN_ROLES
        or not _NAVIGATION_CLASSES.isdisjoint((attributes.get("class") or "").split())
        or (tag == "a" and _is_permalink(node))
        or attributes.get("aria-hidden") == "true"
        or bool(_HIDDEN.search(attributes.get("style") or ""))
    )


def _is_permalink(link: LexborNode) -> bool:
    """Return whether the link is the sign beside a heading that leads to the heading itself, such as a pilcrow."""
    target = link.attributes.get("href") or ""
    child = link.first_child
    return (
        target.startswith("#")
        and child is not None
        and child.next is None
        and child.is_text_node
        and (child.text_content or "").strip() in _PERMALINK_SIGNS
    )
