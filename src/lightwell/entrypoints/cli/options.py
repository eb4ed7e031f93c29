"""Options and arguments that several commands have."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, cast
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


def _values(name: str, metavar: str, what: str) -> object:
    help_text = f"Only documents {what}; repeat for several, of which one must match."
    return Annotated[list[str] | None, typer.Option(name, metavar=metavar, help=help_text)]


def _day(name: str, what: str) -> object:
    return Annotated[
        str, typer.Option(name, metavar="YYYY-MM-DD", help=f"Only documents dated {what}.")
    ]


ONLY = (
    ("source", None, _values("--source", "NAME", "of the source with this name")),
    ("system", None, _values("--system", "SYSTEM", "of this system, such as `linear`")),
    ("type", None, _values("--type", "TYPE", "of this type, such as `issue`")),
    ("author", None, _values("--author", "NAME", "by this person; a part of the name suffices")),
    ("tag", None, _values("--tag", "TAG", "with this access tag, of those that you see")),
    (
        "metadata",
        None,
        Annotated[
            list[str] | None,
            typer.Option(
                "--metadata",
                metavar="KEY=VALUE",
                help="Only documents whose metadata have this value; repeat for several, which must all match.",
            ),
        ],
    ),
    ("since", "", _day("--since", "on this day or later")),
    ("until", "", _day("--until", "on this day or earlier")),
    (
        "everywhere",
        False,
        Annotated[
            bool,
            typer.Option(
                "--everywhere",
                help="Let no words of the question, such as `last month`, choose the documents.",
            ),
        ],
    ),
    (
        "only",
        None,
        Annotated[
            list[str] | None,
            typer.Option(
                "--only", metavar="KEY=VALUE", help="As `--KEY VALUE`: `--only system=linear`."
            ),
        ],
    ),
)
"""The options that say of which documents one asks; a command with the parameter `only` takes them together as `DocumentFilters`."""
_SEVERAL = frozenset(name for name, default, _ in ONLY if default is None)
"""Those that may be repeated."""
MATCHING = ONLY[:-2]
"""Those that say which documents to list, for the parameter `matching`."""
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
WithContext = Annotated[
    bool,
    typer.Option("--context", help="Show what the documents say around the sentences that answer."),
]
AllNearest = Annotated[
    bool,
    typer.Option("--nearest", help="Where nothing answers, show all passages that came nearest."),
]

LookTwice = Annotated[
    bool,
    typer.Option(
        "--look-twice",
        help="Let the chat model search again, open documents and follow names before it answers; this takes several calls of the model.",
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


def parse_filters(options: dict[str, object]) -> "DocumentFilters":
    """Take the options of `ONLY`, or of `MATCHING`, out of a command's, and return the filters that they mean; raise `BadParameter` for what is none."""
    from lightwell.entrypoints.operations.questions import DocumentFilters

    chosen = {name: options.pop(name, default) or default for name, default, _ in ONLY}
    checked = [f"--{name}" for name in ("since", "until", "metadata", "only") if chosen.get(name)]
    is_everywhere = chosen.pop("everywhere")
    only = cast("list[str]", chosen.pop("only") or [])
    pairs = cast("list[str]", chosen.pop("metadata") or [])
    fields: dict[str, object] = {name: value for name, value in chosen.items() if value}
    for key, _, value in (text.partition("=") for text in only):
        several = cast("list[str]", fields.get(key, []))
        fields[key] = [*several, value] if key in _SEVERAL else value
    try:
        if pairs:
            fields["metadata"] = dict(text.split("=", 1) for text in pairs)
        return DocumentFilters.model_validate({**fields, "from_words": not is_everywhere})
    except ValueError:
        raise typer.BadParameter(
            "days are written YYYY-MM-DD, and --metadata and --only take KEY=VALUE; a KEY of --only is "
            "source, system, type, author, tag, since or until",
            param_hint=" / ".join(checked),
        ) from None
