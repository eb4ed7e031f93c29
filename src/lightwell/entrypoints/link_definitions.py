"""Citations as link definitions of markdown, for clients that show text only."""

import json

from lightwell.domain.answers import Answer, Citation


def link_definitions(answer: Answer) -> str:
    """Return the link definitions of an answer's marks, after an empty line; "" for an answer without citations."""
    lines = [
        f"{each.id}: <{_url(each)}> {json.dumps(citation_title(each), ensure_ascii=False)}"
        for each in answer.citations
    ]
    return "\n\n" + "\n".join(lines) if lines else ""


def citation_title(citation: Citation) -> str:
    """Return the title with the page, on one line."""
    page = citation.locator.page
    where = f", page {page}" if page is not None else ""
    return " ".join(f"{citation.document_title}{where}".split())


def _url(citation: Citation) -> str:
    """Return the URL so that it cannot end the definition that it stands in."""
    return "".join(
        sign if sign.isprintable() and sign not in "<> \\" else f"%{ord(sign):02X}"
        for sign in citation.source_url
    )
