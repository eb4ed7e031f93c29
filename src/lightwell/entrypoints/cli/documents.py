"""`documents`: lists, shows and deletes documents; `documents_add`, `documents_original` and `documents_reread` hold the other commands."""

from pathlib import Path
from typing import Annotated
from urllib.parse import unquote

import typer
from rich.console import Group, RenderableType
from rich.text import Text

import lightwell.entrypoints.operations.documents as operations
from lightwell.domain.documents import DocumentState, omission_warning
from lightwell.domain.errors import Invalid
from lightwell.domain.texts import split_at_commas
from lightwell.entrypoints.cli.asking import Asker
from lightwell.entrypoints.cli.console import clean, fields, minute, new_table, page_text
from lightwell.entrypoints.cli.errors import Exit
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.options import PageSize, Yes
from lightwell.entrypoints.cli.registration import Work, command, confirm, new_group
from lightwell.entrypoints.operations.documents import Document, DocumentQuery
from lightwell.entrypoints.operations.questions import ANY_DOCUMENT, DocumentFilters
from lightwell.text.regex import regex

documents = new_group(
    "List, show, add, re-extract and delete documents.",
    "lightwell documents list --as team:us",
    "lightwell documents show handbook/leave.md --as team:us",
)


_ID = regex(r"[0-9a-f]{8}-[0-9a-f-]{27}")


Name = Annotated[
    str,
    typer.Argument(metavar="DOCUMENT", help="The path of its file, or its URL, reference or id."),
]
Names = Annotated[
    list[str],
    typer.Argument(metavar="DOCUMENT...", help="Paths of files, or URLs, references or ids."),
]


@command(
    documents,
    "list",
    "lightwell documents list --as team:us",
    "lightwell documents list --as user:ada --limit 20 --after file:///papers/m.md",
    "lightwell documents list --as team:us --status failed --system upload",
    "lightwell documents list --as team:us --author Ada --since 2026-01-01",
    "lightwell documents list --server http://127.0.0.1:8000",
)
async def list_documents(
    *,
    asker: Asker,
    limit: PageSize = 100,
    after: Annotated[
        str, typer.Option("--after", metavar="URL", help="Only documents after this URL.")
    ] = "",
    status: Annotated[
        DocumentState | None, typer.Option("--status", help="Only documents in this state.")
    ] = None,
    matching: DocumentFilters = ANY_DOCUMENT,
    title: Annotated[
        str, typer.Option("--title", metavar="TEXT", help="Only with this in the title.")
    ] = "",
) -> Report:
    """List the documents that the reader may see, by URL."""
    query = DocumentQuery(
        status=(status,) if status else (),
        source=matching.source,
        system=matching.system,
        type=matching.type,
        author=matching.author,
        tag=matching.tag,
        metadata=tuple(f"{key}={value}" for key, value in matching.metadata.items()),
        since=matching.since,
        until=matching.until,
        title=title,
        limit=limit,
        after=after,
    )
    page = await asker(operations.list_documents, query)
    table = new_table("state", "passages", "title", "url")
    table.columns[1].justify = "right"
    for document in page.documents:
        name = document.title or unquote(document.document_url.rsplit("/", 1)[-1])
        table.add_row(
            document.status.value,
            str(document.chunk_count),
            clean(f"{name}: {document.error_message}" if document.error_message else name),
            clean(document.document_url),
        )
    text = page_text(table, page.next_after, nothing="There are no documents that you may see.")
    return Report(document=page, text=text)


@command(
    documents,
    "show",
    "lightwell documents show handbook/leave.md --as team:us",
    "lightwell documents show handbook/leave.md --as team:us --text",
    "lightwell documents show file:document:42 --server http://127.0.0.1:8000",
)
async def show_document(
    name: Name,
    *,
    asker: Asker,
    with_text: Annotated[bool, typer.Option("--text", help="Also show its text.")] = False,
) -> Report:
    """Show the metadata of one document."""
    name = name_for(asker, name)
    document = await asker(operations.get_document, name)
    if not with_text:
        return Report(document=document, text=_document_fields(document))
    text = (await asker(operations.get_text, name)).text
    return Report(
        document={**document.to_document(), "text": text},
        text=Group(_document_fields(document), Text(), Text(clean(text))),
    )


@command(
    documents,
    "tags",
    "lightwell documents tags upload:document:42 team:sales user:ada --server http://127.0.0.1:8000",
)
async def change_tags(
    name: Name,
    tags: Annotated[
        list[str], typer.Argument(metavar="TAG...", help="All access tags that it has then.")
    ],
    *,
    asker: Asker,
) -> Report:
    """Give a document other access tags; every read follows at once.

    At a server, you add and remove only tags that your key has. The next sync of the document's source gives it the tags that the source says.
    """
    words = [part for word in tags for part in split_at_commas(word)]
    changed = await asker(operations.change_access, name_for(asker, name), words)
    return Report(document=changed, text=_document_fields(changed))


@command(
    documents,
    "passages",
    "lightwell documents passages handbook/leave.md --as team:us",
    "lightwell documents passages upload:document:42 --server http://127.0.0.1:8000",
)
async def list_passages(
    name: Name,
    *,
    asker: Asker,
    limit: Annotated[int, typer.Option("--limit", min=1, max=500, help="How many, at most.")] = 100,
    after: Annotated[int, typer.Option("--after", metavar="N", min=0, help="Skip this many.")] = 0,
) -> Report:
    """List the passages of one document, with the cached model replies that their entities come from."""
    page = await asker(operations.list_passages, name_for(asker, name), limit=limit, after=after)
    parts: list[RenderableType] = []
    for chunk in page.passages:
        number = (f"passage {chunk.metadata.chunk_index + 1}", "bold")
        replies = (f"extracted from {clean(reply)}" for reply in chunk.metadata.llm_cache_ids)
        parts += [
            Text.assemble(number, f"  {clean(chunk.chunk_ref)}"),
            Text(clean(chunk.content)),
            *(Text(reply, style="dim") for reply in replies),
            Text(),
        ]
    return Report(document=page, text=Group(*parts))


@command(
    documents,
    "delete",
    "lightwell documents delete handbook/leave.md --as team:us",
    "lightwell documents delete handbook/leave.md --as team:us --yes",
    "lightwell documents delete upload:document:42 --server http://127.0.0.1:8000",
)
def delete_documents(
    names: Names,
    *,
    asker: Asker,
    hard: Annotated[
        bool, typer.Option("--hard", help="Leave no tombstone: delete the document's name, too.")
    ] = False,
    yes: Yes = False,
) -> Work:
    """Delete documents and everything extracted from them; the files stay.

    While a file exists, the next `ingest` of its folder adds the document again.
    """
    confirm(f"Delete {', '.join(names)} and everything extracted from it?", yes=yes)
    return _delete([name_for(asker, name) for name in names], asker, hard=hard)


async def _delete(names: list[str], asker: Asker, *, hard: bool) -> Report:
    deleted = await asker(operations.delete_documents, names, hard=hard)
    removed = deleted.removed
    lines = [
        f"{len(deleted.document_ids)} deleted: {removed.chunks} passages, {removed.vectors} vectors, {removed.mentions} mentions",
        f"entities: {len(deleted.entities_deleted)} deleted, {len(deleted.entities_rebuilt)} rebuilt;"
        f" relations: {deleted.relations_deleted} deleted, {deleted.relations_rebuilt} rebuilt",
        *(f"not finished: {error}" for error in deleted.errors),
    ]
    return Report(
        document=deleted,
        text=Text(clean("\n".join(lines))),
        code=Exit.INCOMPLETE if deleted.errors else Exit.FINE,
    )


def name_for(asker: Asker, name: str) -> str:
    """Return the name of a document where this asker looks for it."""
    return server_name(name) if asker.login else document_name(name)


def server_name(name: str) -> str:
    """Return the name of a document of a server: its reference or its id; raise `Invalid` for a URL or a path."""
    if "/" in name or not (":" in name or _ID.fullmatch(name)):
        raise Invalid("A server knows documents by reference or id, as `documents list` shows")
    return name


def document_name(name: str) -> str:
    """Return the name of a document in the store: the URL for a path; a URL, reference or id unchanged."""
    return name if ":" in name or _ID.fullmatch(name) else Path(name).resolve().as_uri()


def _document_fields(document: Document) -> RenderableType:
    state = document.status.value
    return fields(
        [
            ("title", document.title),
            ("url", document.document_url),
            ("reference", document.document_ref),
            ("id", str(document.document_id)),
            ("state", f"{state}: {document.error_message}" if document.error_message else state),
            ("format", document.format),
            ("author", document.author),
            *((name, value) for name, value in document.metadata.items() if name != "author"),
            ("topic", document.topic),
            ("language", document.language),
            ("access", ", ".join(document.acl_tags)),
            ("passages", _passages(document)),
            ("warning", omission_warning(document.chunk_count, document.omitted_chunk_count)),
            ("size", f"{document.file_size:,} bytes"),
            ("changed", minute(document.updated_at)),
            ("ingested", minute(document.ingested_at)),
        ]
    )


def _passages(document: Document) -> str:
    waiting = document.waiting_chunk_count
    left = (
        f", {waiting:,} of which have no vector yet: they are found by their words"
        if waiting
        else ""
    )
    return f"{document.chunk_count}{left}"
