"""`documents`: lists and shows documents; `documents_add`, `documents_reread` and `documents_delete` hold the other commands."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group, RenderableType
from rich.text import Text

import lightwell.entrypoints.cli.text_output as text_output
import lightwell.entrypoints.json_output as json_output
from lightwell.domain.documents import (
    Document,
    DocumentFilter,
    DocumentState,
    omission_warning,
)
from lightwell.entrypoints.cli.console import clean, fields
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.groups import command, new_group
from lightwell.entrypoints.cli.options import As, Rows
from lightwell.entrypoints.cli.store import open_as

if TYPE_CHECKING:
    pass


documents = new_group(
    "List, show, add, re-extract and delete documents.",
    "lightwell documents list --as team:us",
    "lightwell documents show handbook/leave.md --as team:us",
)


_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")


Name = Annotated[
    str,
    typer.Argument(metavar="DOCUMENT", help="The path of its file, or its URL, reference or id."),
]


@command(
    documents,
    "list",
    "lightwell documents list --as team:us",
    "lightwell documents list --as user:ada --limit 20 --after file:///papers/m.md",
    "lightwell documents list --as team:us --status failed --system upload",
)
async def list_documents(  # noqa: PLR0913 - the options of a command are its arguments
    *,
    who: As = None,
    limit: Rows = 100,
    after: Annotated[
        str, typer.Option("--after", metavar="URL", help="Only documents after this URL.")
    ] = "",
    status: Annotated[
        DocumentState | None, typer.Option("--status", help="Only documents in this state.")
    ] = None,
    system: Annotated[
        str, typer.Option("--system", metavar="SYSTEM", help="Only of this source system.")
    ] = "",
    kind: Annotated[
        str, typer.Option("--type", metavar="TYPE", help="Only of this source type.")
    ] = "",
    tag: Annotated[
        str, typer.Option("--tag", metavar="TAG", help="Only with this access tag.")
    ] = "",
    title: Annotated[
        str, typer.Option("--title", metavar="TEXT", help="Only with this in the title.")
    ] = "",
) -> Report:
    """List the documents that the reader may see, by URL."""
    wanted = DocumentFilter(state=status, system=system, kind=kind, tag=tag, title=title)
    async with open_as(who) as (kb, reader):
        held = await kb.catalog.list(reader, wanted, after=after, limit=limit + 1)
    page = held[:limit]
    following = page[-1].cursor if len(held) > limit else None
    return Report(
        document=json_output.documents(page, following=following),
        text=text_output.documents(page, following=following),
    )


@command(
    documents,
    "show",
    "lightwell documents show handbook/leave.md --as team:us",
    "lightwell documents show handbook/leave.md --as team:us --text",
)
async def show_document(
    name: Name,
    *,
    who: As = None,
    with_text: Annotated[bool, typer.Option("--text", help="Also show its text.")] = False,
) -> Report:
    """Show the metadata of one document."""
    async with open_as(who) as (kb, reader):
        held = await kb.document(reader, document_name(name))
        text = await kb.text(reader, document_name(name)) if with_text else None
    document = json_output.document(held)
    if text is None:
        return Report(document=document, text=_document_fields(held))
    return Report(
        document={**document, "text": text},
        text=Group(_document_fields(held), Text(), Text(clean(text))),
    )


@command(
    documents,
    "passages",
    "lightwell documents passages handbook/leave.md --as team:us",
    "lightwell documents passages handbook/leave.md --as team:us --json",
)
async def list_passages(
    name: Name,
    *,
    who: As = None,
    limit: Rows = 100,
    after: Annotated[int, typer.Option("--after", metavar="N", min=0, help="Skip this many.")] = 0,
) -> Report:
    """List the passages of one document, with the cached model replies that their entities come from."""
    async with open_as(who) as (kb, reader):
        held = await kb.chunks(reader, document_name(name), after=after, limit=limit)
    parts = [
        Group(
            Text.assemble((f"passage {each.index + 1}", "bold"), f"  {clean(each.ref)}"),
            Text(clean(each.text)),
            *(Text(f"extracted from {reply}", style="dim") for reply in each.llm_cache_ids),
            Text(),
        )
        for each in held
    ]
    return Report(document={"passages": json_output.chunks(held)}, text=Group(*parts))


def document_name(name: str) -> str:
    """Return the name of a document in the store: the URL for a path; a URL, reference or id unchanged."""
    return name if ":" in name or _ID.fullmatch(name) else Path(name).resolve().as_uri()


def _document_fields(document: Document) -> RenderableType:
    return fields(
        [
            ("title", document.title),
            ("url", document.url),
            ("reference", document.ref),
            ("id", str(document.id)),
            (
                "state",
                f"{document.state.value}: {document.error}"
                if document.error
                else document.state.value,
            ),
            ("format", document.format),
            ("author", document.author),
            *((name, value) for name, value in document.metadata.items() if name != "author"),
            ("topic", document.topic),
            ("language", document.language),
            ("access", ", ".join(sorted(document.acl_tags))),
            ("passages", str(document.chunk_count)),
            ("warning", omission_warning(document.chunk_count, document.omitted_chunks)),
            ("size", f"{document.file_size:,} bytes"),
            ("changed", f"{document.updated_at:%Y-%m-%d %H:%M}"),
            ("ingested", f"{document.ingested_at:%Y-%m-%d %H:%M}" if document.ingested_at else ""),
        ]
    )
