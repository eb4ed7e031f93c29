"""Jupyter notebooks (nbformat 3 and 4) as Markdown: text as written, code in the kernel's language, what it printed in short.

Pictures and other data of outputs and attachments are left out.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import cast

from lightwell.domain.documents import ParsedDocument
from lightwell.domain.errors import Unreadable
from lightwell.ingest.parse import markdown
from lightwell.ingest.parse._text import decode, one_line
from lightwell.text.regex import regex

_MAX_OUTPUT_LINES, _MAX_OUTPUT_CHARACTERS = 20, 2_000
_DATA = regex(r"data:[\w.+/-]{1,80}+(?:;[\w=.-]{1,40}+){0,3}+,[\w+/=%.-]*+")
_PICTURE = regex(r"!\[([^\[\]\n]{0,300}+)\]\((?:attachment:[^()\s]{0,300}+)?\)")
_ANSI = regex(r"\x1b\[[\d;?]{0,30}+[A-Za-z]")
_FENCE = regex(r"[ ]{0,3}(`{3,}+|~{3,}+)([^\n]*+)")
_MARKS = ("```", "~~~", "````", "~~~~", "``````````")
_NO_WORD = regex(r"[^\w+#-]++")
_BROKEN = (
    "it is no notebook, or a damaged one, which Jupyter would not open; restore it, or ignore it"
)

_Object = Mapping[str, object]


def parse(content: bytes, *, name: str = "") -> ParsedDocument:
    """Return the document; its text is Markdown."""
    try:
        loaded = cast("object", json.loads(decode(content), parse_int=str))
    except (ValueError, RecursionError) as error:
        raise Unreadable("broken", _BROKEN) from error
    notebook = _object(loaded)
    metadata = _object(notebook.get("metadata"))
    sheets = [notebook, *_objects(notebook.get("worksheets"))]
    cells = [cell for sheet in sheets for cell in _objects(sheet.get("cells"))]
    if not notebook or not any("cells" in sheet for sheet in sheets):
        raise Unreadable("broken", _BROKEN)
    language = _language(metadata)
    parts = [part for cell in cells for part in _cell(cell, language)]
    text = "\n\n".join(filter(None, (part.strip("\n") for part in parts)))
    document = markdown.parse(text.encode("utf-8", "replace"), name=name)
    authors = ", ".join(
        str(author["name"]) for author in _objects(metadata.get("authors")) if "name" in author
    )
    title = metadata.get("title")
    return replace(
        document,
        title=one_line(title) if isinstance(title, str) and title.strip() else document.title,
        author=document.author or one_line(authors),
    )


def _cell(cell: _Object, language: str) -> Iterator[str]:
    """Yield what a cell says, as blocks of Markdown."""
    source = _DATA.sub("", _text(cell.get("source", cell.get("input"))))
    match cell.get("cell_type"):
        case "markdown":
            yield _closed(_PICTURE.sub(r"\1", source))
        case "heading":  # nbformat 3
            level = str(cell.get("level", 1))
            yield f"{'#' * min(int(level), 6) if level.isdecimal() else '#'} {one_line(source)}"
        case "raw" if source.startswith("---"):  # front matter, as Quarto has it
            yield source
        case "raw":
            yield _fenced(source, "")
        case "code":
            yield _fenced(source, language or str(cell.get("language", "")))
            for output in _objects(cell.get("outputs")):
                yield _fenced(_shorten(_output(output)), "")
        case _:
            return


def _output(output: _Object) -> str:
    """Return what an output says in plain text; its other forms are for eyes."""
    if output.get("output_type") in ("error", "pyerr"):
        return f"{_text(output.get('ename'))}: {_text(output.get('evalue'))}"
    data = _object(output.get("data"))
    return _DATA.sub("", _ANSI.sub("", _text(data.get("text/plain", output.get("text")))))


def _shorten(text: str) -> str:
    lines = text[:_MAX_OUTPUT_CHARACTERS].strip("\n").split("\n")
    is_cut = len(text) > _MAX_OUTPUT_CHARACTERS or len(lines) > _MAX_OUTPUT_LINES
    return "\n".join([*lines[:_MAX_OUTPUT_LINES], *(["…"] if is_cut else [])])


def _language(metadata: _Object) -> str:
    """Return the language of the kernel, "" where it is not said."""
    names = (
        _object(metadata.get("kernelspec")).get("language"),
        _object(metadata.get("language_info")).get("name"),
    )
    return next((_text(name) for name in names if name), "")


def _fenced(code: str, language: str) -> str:
    """Return code within a fence, "" for none."""
    mark = next((mark for mark in _MARKS if mark not in code), _MARKS[-1])
    code = code.strip("\n")
    return f"{mark}{_NO_WORD.sub('', language)}\n{code}\n{mark}" if code.strip() else ""


def _closed(text: str) -> str:
    """Return Markdown whose last fence is closed: a cell ends with its end."""
    mark = ""
    for line in text.split("\n"):
        fence = _FENCE.fullmatch(line)
        if fence is None:
            continue
        if not mark:
            mark = fence[1]
        elif fence[1].startswith(mark) and not fence[2].strip():
            mark = ""
    return f"{text.rstrip()}\n{mark}" if mark else text


def _object(value: object) -> _Object:
    return cast("_Object", value) if isinstance(value, dict) else {}


def _objects(value: object) -> Sequence[_Object]:
    values = cast("Iterable[object]", value) if isinstance(value, list) else ()
    return [*filter(None, map(_object, values))]


def _text(value: object) -> str:
    """Return a text that stands as one, or as a list of its lines."""
    if isinstance(value, list):
        return "".join(line for line in cast("list[object]", value) if isinstance(line, str))
    return value if isinstance(value, str) else ""
