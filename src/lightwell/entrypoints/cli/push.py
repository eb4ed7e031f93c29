"""`push`: pushes a folder, or lines of JSON, into a source of a server."""

import asyncio
import json
import sys
from base64 import b64encode
from collections.abc import AsyncGenerator, Generator, Iterator, Sequence
from contextlib import aclosing, nullcontext
from itertools import islice
from pathlib import Path
from typing import Annotated
from urllib.parse import unquote, urlsplit

import typer
from rich.text import Text

from lightwell.connectors.files import Files
from lightwell.domain.documents import SOURCE_ADDRESS, NewDocument
from lightwell.domain.errors import Invalid, LightwellError
from lightwell.entrypoints.cli.console import clean, count_of, errors_console
from lightwell.entrypoints.cli.errors import Exit
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.logins import Login
from lightwell.entrypoints.cli.options import Server
from lightwell.entrypoints.cli.registration import Work, command, single_command
from lightwell.entrypoints.cli.remote import open_client, require_server
from lightwell.entrypoints.client.push_calls import (
    NOTHING_PUSHED,
    Line,
    add_report,
    later_parts_of,
    push_lines,
    push_query,
)
from lightwell.entrypoints.operations.pushes import PushQuery, PushReport
from lightwell.ports import ChangedDocument, UnreadableDocument

push = single_command()
_SHOWN = 20


@command(
    push,
    "push",
    "lightwell push handbook --source wiki --allow everyone --everything --server http://127.0.0.1:8000",
    "lightwell push items.ndjson --source wiki --server http://127.0.0.1:8000",
    "some-exporter | lightwell push - --source wiki --server http://127.0.0.1:8000",
)
def push_items(  # noqa: PLR0913 - the options of a command are its arguments
    path: Annotated[
        str,
        typer.Argument(
            metavar="PATH",
            help="A folder, whose files are items; a file with one JSON object a line; or - for such lines on stdin.",
        ),
    ],
    *,
    source: Annotated[
        str, typer.Option("--source", metavar="NAME", help="The source, of the system push.")
    ],
    allow: Annotated[
        list[str] | None,
        typer.Option(
            "--allow",
            metavar="WHO",
            help="Who sees the files of a folder: ada@halden.example, @halden.example, group:sales or everyone; repeat it.",
        ),
    ] = None,
    everything: Annotated[
        bool,
        typer.Option(
            "--everything", help="This is all that the source has: remove what is not in it."
        ),
    ] = False,
    allow_mass_deletion: Annotated[
        bool,
        typer.Option(
            "--allow-mass-deletion",
            help="With --everything, remove although more than a fifth of the items is gone.",
        ),
    ] = False,
    skip: Annotated[
        int,
        typer.Option(
            "--skip", metavar="N", min=0, help="Go on behind the first N lines, which are stored."
        ),
    ] = 0,
    server: Server = None,
) -> Work:
    """Push a folder, or lines of JSON, into a source of a server, and say what failed.

    The key of the source is saved by `lightwell login`, or is in LIGHTWELL_API_KEY. What is the same is not ingested again, so to push again after a
    break is right. Access tags in the folder's settings do not count: --allow says who sees it.
    """
    if skip and everything:
        raise Invalid("--everything needs all lines: leave --skip out")
    if path != "-" and Path(path).is_dir():
        lines = _lines_of_folder(Path(path).resolve(), _parse_allow(allow or ()))
    elif path == "-" or Path(path).is_file():
        lines = _later(islice(_read_lines(path), skip, None))
    else:
        raise Invalid(f"{path} is no folder and no file")
    query = push_query(everything=everything, allow_mass_deletion=allow_mass_deletion)
    return _push(source, lines, query, require_server(server))


async def _push(source: str, lines: AsyncGenerator[Line], query: PushQuery, login: Login) -> Report:
    report = NOTHING_PUSHED
    async with aclosing(lines), open_client(login) as client:
        try:
            async for part in later_parts_of(lines, everything=bool(query.sync)):
                report = add_report(report, await client.send(push_lines(source, part, query)))
                errors_console().print(Text(_describe(report), style="dim"))
        except LightwellError:
            text = f"The server has acknowledged {count_of(report.lines, 'line')}: push again, or go on behind them with --skip"
            errors_console().print(Text(text))
            raise
    return _report(report)


def _read_lines(path: str) -> Generator[bytes]:
    """Yield the lines of a file or of stdin that are not blank."""
    with nullcontext(sys.stdin.buffer) if path == "-" else Path(path).open("rb") as lines:
        yield from (line for line in lines if line.strip())


async def _later(lines: Iterator[bytes]) -> AsyncGenerator[Line]:
    """Yield lines, each read in a thread: the next one may be a while in coming."""
    while (line := await asyncio.to_thread(next, lines, None)) is not None:
        yield line


async def _lines_of_folder(root: Path, allow: dict[str, object]) -> AsyncGenerator[Line]:
    """Yield a line for each file that can be read; one that cannot stays as the server has it."""
    async for change in Files(root=root, default_tags=frozenset()).changes({}):
        match change:
            case ChangedDocument(document=document):
                yield json.dumps(_line_of(document, _id_of(document.url, root), allow))
            case UnreadableDocument(url=url, message=message):
                line = f"{_id_of(url, root)}: {message}"
                errors_console().print(Text(clean(line), style="yellow"))
                yield json.dumps({"kind": "keep", "id": _id_of(url, root)})
            case _:
                pass


def _id_of(url: str, root: Path) -> str:
    return Path(unquote(urlsplit(url).path)).relative_to(root).as_posix()


def _line_of(document: NewDocument, id_: str, allow: dict[str, object]) -> dict[str, object]:
    metadata = dict(document.metadata)
    return {
        "id": id_,
        "title": document.title,
        "file": b64encode(document.content).decode(),
        "fileName": id_,
        "format": document.format,
        "url": metadata.pop(SOURCE_ADDRESS, ""),
        "author": {"name": metadata.pop("author", "")},
        "updatedAt": document.updated_at and document.updated_at.isoformat(),
        "metadata": metadata,
        "allow": allow,
    }


def _parse_allow(words: Sequence[str]) -> dict[str, object]:
    """Return who sees the files; raise `Invalid` where nobody is named."""
    if not words:
        raise Invalid(
            "Name who sees the files: --allow everyone, @halden.example, ada@halden.example or group:sales"
        )
    groups = [word.removeprefix("group:") for word in words if word.startswith("group:")]
    others = [word for word in words if not word.startswith("group:") and word != "everyone"]
    return {
        "everyone": "everyone" in words,
        "groups": groups,
        "domains": [word for word in others if word.startswith("@")],
        "people": [word for word in others if not word.startswith("@")],
    }


def _describe(report: PushReport) -> str:
    counts = (
        (report.inserted, "new"),
        (report.updated, "changed"),
        (report.deleted, "removed"),
        (report.unchanged, "unchanged"),
        (report.outdated, "outdated"),
        (report.failed, "failed"),
    )
    text = ", ".join(f"{number:,} {word}" for number, word in counts if number)
    return f"{count_of(report.lines, 'line')}: {text or 'nothing to do'}"


def _report(report: PushReport) -> Report:
    lines = [_describe(report)]
    lines += [
        f"line {failure.line}{failure.id and f' ({failure.id})'}: {failure.message}"
        for failure in report.failures[:_SHOWN]
    ]
    if report.failed > _SHOWN:
        lines.append(f"and {report.failed - _SHOWN:,} more; --json has them")
    if report.warning:
        lines.append(f"Warning: {report.warning}")
    code = Exit.INCOMPLETE if report.failed or report.warning else Exit.FINE
    return Report(document=report, text=Text(clean("\n".join(lines))), code=code)
