"""A document that contains another one, as a mail contains a file."""

from dataclasses import replace

from lightwell.domain.documents import ParsedDocument, Section


def append(document: ParsedDocument, name: str, inner: ParsedDocument) -> ParsedDocument:
    """Return the document with the text of another one below it, in sections under the name of that one."""
    heading = f"\n\nAttachment: {name}\n\n"
    start = len(document.text) + len(heading)
    above = Section(path=(name,), start=len(document.text), end=start)
    sections = (
        replace(
            section,
            path=(name, *section.path),
            start=section.start + start,
            end=section.end + start,
        )
        for section in inner.sections
    )
    spans = (replace(span, start=span.start + start, end=span.end + start) for span in inner.spans)
    return replace(
        document,
        text=f"{document.text}{heading}{inner.text}",
        sections=(*document.sections, above, *sections),
        spans=(*document.spans, *spans),
    )
