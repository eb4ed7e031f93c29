"""`documents`: lists and shows documents; `documents_add`, `documents_reread` and `documents_delete` hold the other commands."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group, RenderableType
from rich.text import Text

import lightwell.entrypoints.cli.text_output as text_output
from lightwell.domain.documents import DocumentState, omission_warning
from lightwell.domain.errors import Invalid
from lightwell.domain.texts import split_at_commas
from lightwell.entrypoints.cli.console import clean, fields, minute
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.options import As, PageSize, Server
from lightwell.entrypoints.cli.registration import command, new_group
from lightwell.entrypoints.cli.remote import choose_server, dump, require_server, send
from lightwell.entrypoints.cli.store import open_as

if TYPE_CHECKING:
    from lightwell.entrypoints.schemas.documents import DocumentSchema


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
    "lightwell documents list --server http://127.0.0.1:8000",
)
async def list_documents(  # noqa: PLR0913 - the options of a command are its arguments
    *,
    who: As = None,
    server: Server = None,
    limit: PageSize = 100,
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
    from lightwell.entrypoints.client import document_calls
    from lightwell.entrypoints.schemas.documents import DocumentQuery, document_page

    query = DocumentQuery(
        status=status, system=system, type=kind, tag=tag, title=title, limit=limit, after=after
    )
    if login := choose_server(server, who):
        page = await send(document_calls.list_documents(query), login)
    else:
        async with open_as(who) as (kb, reader):
            held = await kb.documents.list(reader, query.to_filter(), after=after, limit=limit + 1)
        page = document_page(held, query)
    return Report(document=dump(page), text=text_output.documents(page))


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
    who: As = None,
    server: Server = None,
    with_text: Annotated[bool, typer.Option("--text", help="Also show its text.")] = False,
) -> Report:
    """Show the metadata of one document."""
    from lightwell.entrypoints.client import document_calls
    from lightwell.entrypoints.schemas.documents import document_schema

    if login := choose_server(server, who):
        known = server_name(name)
        shown = await send(document_calls.get_document(known), login)
        text = (await send(document_calls.get_text(known), login)).text if with_text else None
    else:
        async with open_as(who) as (kb, reader):
            shown = document_schema(await kb.documents.get(reader, document_name(name)))
            text = await kb.documents.text(reader, document_name(name)) if with_text else None
    if text is None:
        return Report(document=dump(shown), text=_document_fields(shown))
    return Report(
        document={**dump(shown), "text": text},
        text=Group(_document_fields(shown), Text(), Text(clean(text))),
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
    server: Server = None,
) -> Report:
    """Give a document of a server other access tags; every read follows at once.

    You add and remove only tags that your key has. The next sync of the document's source gives it the tags that the source says.
    """
    from lightwell.entrypoints.client import document_calls

    words = [part for word in tags for part in split_at_commas(word)]
    call = document_calls.change_tags(server_name(name), words)
    changed = await send(call, require_server(server))
    return Report(document=dump(changed), text=_document_fields(changed))


@command(
    documents,
    "passages",
    "lightwell documents passages handbook/leave.md --as team:us",
    "lightwell documents passages upload:document:42 --server http://127.0.0.1:8000",
)
async def list_passages(
    name: Name,
    *,
    who: As = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=500, help="How many, at most.")] = 100,
    after: Annotated[int, typer.Option("--after", metavar="N", min=0, help="Skip this many.")] = 0,
    server: Server = None,
) -> Report:
    """List the passages of one document, with the cached model replies that their entities come from."""
    from lightwell.entrypoints.client import document_calls
    from lightwell.entrypoints.schemas.passages import PassageQuery, passage_page

    query = PassageQuery(after=after, limit=limit)
    if at := choose_server(server, who):
        page = await send(document_calls.list_passages(server_name(name), query), at)
    else:
        async with open_as(who) as (kb, reader):
            held = await kb.documents.chunks(
                reader, document_name(name), after=after, limit=limit + 1
            )
        page = passage_page(held, query)
    parts = [
        Group(
            Text.assemble(
                (f"passage {each.metadata.chunk_index + 1}", "bold"), f"  {clean(each.chunk_ref)}"
            ),
            Text(clean(each.content)),
            *(
                Text(f"extracted from {clean(one)}", style="dim")
                for one in each.metadata.llm_cache_ids
            ),
            Text(),
        )
        for each in page.passages
    ]
    return Report(document={"passages": dump(page)["passages"]}, text=Group(*parts))


def document_name(name: str) -> str:
    """Return the name of a document in the store: the URL for a path; a URL, reference or id unchanged."""
    return name if ":" in name or _ID.fullmatch(name) else Path(name).resolve().as_uri()


def server_name(name: str) -> str:
    """Return the name of a document of a server: its reference or its id; raise `Invalid` for a URL or a path."""
    if "/" in name or not (":" in name or _ID.fullmatch(name)):
        raise Invalid("A server knows documents by reference or id, as `documents list` shows")
    return name


def _document_fields(document: "DocumentSchema") -> RenderableType:
    return fields(
        [
            ("title", document.title),
            ("url", document.document_url),
            ("reference", document.document_ref),
            ("id", document.document_id),
            (
                "state",
                f"{document.status}: {document.error_message}"
                if document.error_message
                else document.status,
            ),
            ("format", document.format),
            ("author", document.author),
            *((name, value) for name, value in document.metadata.items() if name != "author"),
            ("topic", document.topic),
            ("language", document.language),
            ("access", ", ".join(document.acl_tags)),
            ("passages", str(document.chunk_count)),
            ("warning", omission_warning(document.chunk_count, document.omitted_chunk_count)),
            ("size", f"{document.file_size:,} bytes"),
            ("changed", minute(document.updated_at)),
            ("ingested", minute(document.ingested_at)),
        ]
    )
