"""`push`: pushes a folder, or lines of JSON, into a source of a server."""

import asyncio
import sys
from base64 import b64encode
from collections.abc import AsyncGenerator, Generator, Iterator, Mapping, Sequence
from contextlib import aclosing, nullcontext
from dataclasses import dataclass, field
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
from lightwell.entrypoints.cli.remote import open_client, require_server, send
from lightwell.entrypoints.client.push_calls import (
    NOTHING_PUSHED,
    Line,
    add_report,
    later_parts_of,
    parts_of,
    push_file,
    push_lines,
    push_query,
)
from lightwell.entrypoints.operations.pushes import PushFailure, PushQuery, PushReport
from lightwell.ports import ChangedDocument, UnreadableDocument

push = single_command()
_SHOWN = 20
_LARGEST_IN_LINE = 4_000_000


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
    if path == "-" and everything:
        raise Invalid(
            "--everything cannot know whether all lines came, since a program that breaks off ends them, too:"
            " let it write a file, and push that where it succeeded"
        )
    login = require_server(server)
    if path != "-" and Path(path).is_dir():
        folder = _Folder(
            root=Path(path).resolve(), allow=_parse_allow(allow or ()), source=source, login=login
        )
        pushed = _Pushed(folder.lines(), folder.alone, folder.unread)
    elif path == "-" or Path(path).is_file():
        pushed = _Pushed(_later(islice(_read_lines(path), skip, None)))
    else:
        raise Invalid(f"{path} is no folder and no file")
    query = push_query(everything=everything, allow_mass_deletion=allow_mass_deletion)
    return _push(source, pushed, query, login)


@dataclass(frozen=True, slots=True)
class _Pushed:
    """Lines, and what becomes known while they come: the reports of files that were sent by themselves, and folders that could not be read."""

    lines: AsyncGenerator[Line]
    alone: Sequence[PushReport] = ()
    unread: Sequence[str] = ()

    async def parts(self, *, everything: bool) -> AsyncGenerator[bytes]:
        """Yield the lines in parts, at the end what ends a sync of everything; not where a folder could not be read, since what it has is unknown."""
        async for part in later_parts_of(self.lines, everything=False):
            yield part
        if everything and not self.unread:
            for end in parts_of((), everything=True):
                yield end


async def _push(source: str, pushed: _Pushed, query: PushQuery, login: Login) -> Report:
    report = NOTHING_PUSHED
    async with aclosing(pushed.lines), open_client(login) as client:
        try:
            async for part in pushed.parts(everything=bool(query.sync)):
                report = add_report(report, await client.send(push_lines(source, part, query)))
                errors_console().print(Text(_describe(report), style="dim"))
        except LightwellError:
            text = f"The server has acknowledged {count_of(report.lines, 'line')}: push again, or go on behind them with --skip"
            errors_console().print(Text(text))
            raise
    for of_file in pushed.alone:
        report = add_report(report, of_file)
    if query.sync and pushed.unread:
        warning = f"{', '.join(pushed.unread)} cannot be read, so nothing was removed"
        report = report.model_copy(update={"warning": warning})
    return _report(report)


def _read_lines(path: str) -> Generator[bytes]:
    """Yield the lines of a file or of stdin that are not blank."""
    with nullcontext(sys.stdin.buffer) if path == "-" else Path(path).open("rb") as lines:
        yield from (line for line in lines if line.strip())


async def _later(lines: Iterator[bytes]) -> AsyncGenerator[Line]:
    """Yield lines, each read in a thread: the next one may be a while in coming."""
    while (line := await asyncio.to_thread(next, lines, None)) is not None:
        yield line


@dataclass(frozen=True, slots=True, kw_only=True)
class _Folder:
    """A folder whose files are items. `alone` are the reports of files that were sent by themselves, `unread` the folders in it that cannot be read."""

    root: Path
    allow: Mapping[str, object]
    source: str
    login: Login
    alone: list[PushReport] = field(default_factory=list[PushReport])
    unread: list[str] = field(default_factory=list[str])

    async def lines(self) -> AsyncGenerator[Line]:
        """Yield a line for each file that can be read; one that cannot stays as the server has it, and a large one is sent by itself."""
        async for change in Files(root=self.root, default_tags=frozenset()).changes({}):
            match change:
                case ChangedDocument(document=document):
                    yield await self._line_of(document)
                case UnreadableDocument(url=url, message=message):
                    path = _path_of(url)
                    id_ = path.relative_to(self.root).as_posix()
                    errors_console().print(Text(clean(f"{id_}: {message}"), style="yellow"))
                    if path.is_dir() and not path.is_symlink():
                        self.unread.append(id_)
                    else:
                        yield {"kind": "keep", "id": id_}
                case _:
                    pass

    async def _line_of(self, document: NewDocument) -> Line:
        path, metadata = _path_of(document.url), dict(document.metadata)
        id_ = path.relative_to(self.root).as_posix()
        item: dict[str, object] = {
            "id": id_,
            "title": document.title,
            "fileName": path.name,
            "format": document.format,
            "url": metadata.pop(SOURCE_ADDRESS, ""),
            "author": {"name": metadata.pop("author", "")},
            "metadata": metadata,
            "allow": self.allow,
        }
        if len(document.content) <= _LARGEST_IN_LINE:
            return {**item, "file": b64encode(document.content).decode()}
        try:
            report = await send(push_file(self.source, item, path), self.login)
        except Invalid as error:
            failure = PushFailure(line=0, id=id_, message=str(error))
            report = NOTHING_PUSHED.model_copy(update={"failed": 1, "failures": [failure]})
        self.alone.append(report.model_copy(update={"lines": 0}))
        return {"kind": "keep", "id": id_}


def _path_of(url: str) -> Path:
    return Path(unquote(urlsplit(url).path))


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
        f"{f'line {failure.line}' if failure.line else 'file'}{failure.id and f' ({failure.id})'}: {failure.message}"
        for failure in report.failures[:_SHOWN]
    ]
    if report.failed > _SHOWN:
        lines.append(f"and {report.failed - _SHOWN:,} more; --json has them")
    if report.warning:
        lines.append(f"Warning: {report.warning}")
    code = Exit.INCOMPLETE if report.failed or report.warning else Exit.FINE
    return Report(document=report, text=Text(clean("\n".join(lines))), code=code)
