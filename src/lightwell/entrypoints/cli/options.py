"""Options and arguments that several commands have."""

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from lightwell.domain.questions import Mode

if TYPE_CHECKING:
    from lightwell.entrypoints.operations.questions import DocumentFilters

As = Annotated[
    list[str] | None,
    typer.Option(
        "--as",
        metavar="WHO",
        help="Who asks: an access tag, such as team:sales. Several by commas, or by repeating the option.",
    ),
]
Server = Annotated[
    str | None,
    typer.Option(
        "--server",
        metavar="URL",
        help="Use this server instead of the store here; its API key says who asks (`lightwell login`).",
    ),
]
Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON document on stdout, for programs.")
]
Verbose = Annotated[bool, typer.Option("--verbose", help="Write a log to stderr.")]
Rows = Annotated[int, typer.Option("--limit", min=1, help="How many, at most.")]
PageSize = Annotated[int, typer.Option("--limit", min=1, max=1000, help="How many, at most.")]
Yes = Annotated[bool, typer.Option("--yes", help="Skip the confirmation.")]
Before = Annotated[
    UUID | None, typer.Option("--before", metavar="ID", help="Only entries older than this one.")
]
Topic = Annotated[
    str, typer.Option("--topic", metavar="TOPIC", help="Only documents with this topic tag.")
]
Only = Annotated[
    list[str] | None,
    typer.Option(
        "--only",
        metavar="KEY=VALUE",
        help="Only documents with this `system`, `type`, or date (`since`, `until`: YYYY-MM-DD); repeat for several.",
    ),
]
Question = Annotated[str, typer.Argument(metavar="QUESTION", help="The question, in quotes.")]
Limit = Annotated[
    int, typer.Option("--limit", metavar="N", min=1, max=20, help="How many passages, at most.")
]
Where = Annotated[
    Mode,
    typer.Option(
        "--mode",
        help="Where to search: passages (naive), entities (local), relations (global), both (hybrid), "
        "everywhere (mix), or nowhere (bypass: the model answers without documents, and the answer says so).",
    ),
]


class SearchMode(StrEnum):
    """The modes that search for passages: all but `bypass`, which does not search."""

    NAIVE = Mode.NAIVE.value
    LOCAL = Mode.LOCAL.value
    GLOBAL = Mode.GLOBAL.value
    HYBRID = Mode.HYBRID.value
    MIX = Mode.MIX.value

    @property
    def mode(self) -> Mode:
        return Mode(self.value)


SearchWhere = Annotated[
    SearchMode,
    typer.Option(
        "--mode",
        case_sensitive=False,
        help="Where to search: passages (naive), entities (local), relations (global), both (hybrid) "
        "or everywhere (mix).",
    ),
]
Estimate = Annotated[
    bool,
    typer.Option(
        "--estimate",
        help="Only estimate time, disk and tokens, by reading a few passages; call no endpoint and store nothing.",
    ),
]
NoWait = Annotated[
    bool, typer.Option("--no-wait", help="Only enqueue; `lightwell worker` does the work.")
]
Budget = Annotated[
    int | None,
    typer.Option(
        "--budget",
        metavar="TOKENS",
        min=0,
        help="Stop before more tokens are spent; 0 is no limit.",
    ),
]


def parse_filters(only: Sequence[str] | None) -> "DocumentFilters":
    """Return the filters of `--only`; raise `BadParameter` for what is none."""
    from lightwell.entrypoints.operations.questions import DocumentFilters

    fields = {key: value for key, _, value in (text.partition("=") for text in only or ())}
    try:
        return DocumentFilters.model_validate(fields)
    except ValueError:
        raise typer.BadParameter(
            "give system=NAME, type=NAME, since=YYYY-MM-DD or until=YYYY-MM-DD", param_hint="--only"
        ) from None
