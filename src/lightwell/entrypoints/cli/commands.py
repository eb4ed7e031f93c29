"""Everything that can be said on the command line: commands, options, help."""

from enum import StrEnum
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from lightwell.domain.questions import Mode
from lightwell.entrypoints.cli.parsing import Commands

app = typer.Typer(
    name="lightwell",
    cls=Commands,
    help="Answers with citations, only from what the asking person may see.",
    epilog="\b\nExamples:\n  lightwell demo\n  lightwell ingest ./handbook --acl team:us\n"
    '  lightwell ask "How many days of leave do we have?" --as team:us\n\n'
    "\b\nExit codes: 0 fine, 1 done in part, 2 wrong input, 3 not found,\n"
    "4 a model, a database or a source failed, 130 interrupted.",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)
As = Annotated[
    list[str] | None,
    typer.Option(
        "--as",
        metavar="WHO",
        help="Who asks: an access tag, such as team:sales. Several by commas, or by repeating it.",
    ),
]
Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON document on stdout, for programs.")
]
Verbose = Annotated[bool, typer.Option("--verbose", help="Write a log to stderr.")]
Topic = Annotated[
    str, typer.Option("--topic", metavar="TOPIC", help="Only documents with this topic tag.")
]
Question = Annotated[str, typer.Argument(metavar="QUESTION", help="The question, in quotes.")]
Limit = Annotated[
    int, typer.Option("--limit", metavar="N", min=1, max=20, help="How many passages, at most.")
]
Where = Annotated[
    Mode,
    typer.Option(
        "--mode",
        help="Where to look: passages (naive), entities (local), relations (global), both (hybrid), "
        "everywhere (mix), or nowhere (bypass: the model answers by itself, and says so).",
    ),
]


class SearchMode(StrEnum):
    """The modes that look for passages: all but `bypass`, which looks nowhere."""

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
        help="Where to look: passages (naive), entities (local), relations (global), both (hybrid) "
        "or everywhere (mix).",
    ),
]
Estimate = Annotated[
    bool,
    typer.Option("--estimate", help="Only estimate the model's cost; nothing is spent or stored."),
]
NoWait = Annotated[
    bool, typer.Option("--no-wait", help="Only enqueue; leave the work to `lightwell worker`.")
]
Budget = Annotated[
    int | None,
    typer.Option(
        "--budget", metavar="TOKENS", min=0, help="Stop before more are spent; 0 is no limit."
    ),
]
ExportPath = Annotated[
    Path,
    typer.Argument(
        metavar="PATH",
        help="The file to write. csv has a file for each table: the first one goes to graph.csv, "
        "the others beside it, to graph-relations.csv, graph-chunks.csv, graph-vectors.csv.",
    ),
]
ExportFormat = Annotated[
    str,
    typer.Option("--format", metavar="FORMAT", help="csv, xlsx, md or txt; else as PATH ends."),
]
NoEntities = Annotated[bool, typer.Option("--no-entities", help="Leave the entities out.")]
NoRelations = Annotated[bool, typer.Option("--no-relations", help="Leave the relations out.")]
Chunks = Annotated[bool, typer.Option("--chunks", help="The passages too, with their text.")]
Vectors = Annotated[bool, typer.Option("--vectors", help="The passages' embedding vectors too.")]
BatchSize = Annotated[
    int, typer.Option("--batch-size", metavar="N", help="How many rows to hold in memory at once.")
]
Force = Annotated[bool, typer.Option("--force", help="Replace files that are there.")]


@app.callback(invoke_without_command=True)
def lightwell(
    *,
    show_version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.")
    ] = False,
) -> None:
    if show_version:
        typer.echo(version("lightwell"))
        raise typer.Exit


@app.command(epilog="\b\nExamples:\n  lightwell demo\n  lightwell demo --json")
def demo(*, as_json: Json = False, verbose: Verbose = False) -> None:
    """Ingest the documents of an example company and ask three questions as two people each.

    It keeps to a directory of its own, needs no key, and touches nothing of yours. Exit code 1 says
    that a document could not be read or an answer was not the one it should be.
    """
    from lightwell.entrypoints.cli.demo import demo
    from lightwell.entrypoints.cli.edge import run

    run(demo(), as_json=as_json, verbose=verbose)


@app.command(
    epilog="\b\nExamples:\n  lightwell ingest ./handbook --acl team:us\n"
    "  lightwell ingest ./deals contract.pdf --acl team:sales,user:ada --topic contracts\n"
    "  lightwell ingest ./archive --acl team:us --estimate\n"
    "  lightwell ingest ./archive --acl team:us --no-wait"
)
def ingest(  # noqa: PLR0913 - the options of a command are its arguments
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...", exists=True, help="Files, or folders with all that is below them."
        ),
    ],
    *,
    acl: Annotated[
        list[str] | None,
        typer.Option(
            "--acl",
            metavar="TAG",
            help="Who may see documents that name no access tags themselves: team:sales. "
            "Several by commas, or by repeating it.",
        ),
    ] = None,
    topic: Annotated[
        str,
        typer.Option("--topic", metavar="TOPIC", help="The topic tag of documents that name none."),
    ] = "",
    no_wait: NoWait = False,
    estimate: Estimate = False,
    budget: Budget = None,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Ingest documents; later runs process only what is new, changed or deleted.

    Reads markdown, pdf, docx, html and plain text. Who may see a document stands in its front matter
    (`acl_tags`) or in a .lightwell.yaml beside it, or else in --acl. A document that cannot be read is
    reported with its reason, and the rest goes on. Ctrl-C loses nothing: the next run goes on.
    """
    import lightwell.entrypoints.cli.writing as writing
    from lightwell.entrypoints.cli.edge import run

    tags = acl or []
    if estimate:
        command = writing.estimate(paths, tags, topic=topic)
    elif no_wait:
        command = writing.enqueue(paths, tags, topic=topic)
    else:
        command = writing.ingest(paths, tags, topic=topic, budget=budget)
    run(command, as_json=as_json, verbose=verbose)


@app.command(epilog="\b\nExamples:\n  lightwell status --as team:us")
def status(*, who: As = None, as_json: Json = False, verbose: Verbose = False) -> None:
    """Count what the asking person may see, and what still waits for a worker."""
    import lightwell.entrypoints.cli.reading as reading
    from lightwell.entrypoints.cli.edge import run

    run(reading.status(who or []), as_json=as_json, verbose=verbose)


@app.command(
    epilog="\b\nExamples:\n  lightwell export graph.xlsx --as team:us\n"
    "  lightwell export graph.csv --as team:sales --chunks --vectors\n"
    "  lightwell export passages.csv --as user:ada --chunks --no-entities --no-relations"
)
def export(  # noqa: PLR0913 - the options of a command are its arguments
    path: ExportPath,
    *,
    who: As = None,
    file_format: ExportFormat = "",
    no_entities: NoEntities = False,
    no_relations: NoRelations = False,
    chunks: Chunks = False,
    vectors: Vectors = False,
    batch_size: BatchSize = 1000,
    force: Force = False,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Write the entities and relations that the asking person may see to files, and more on request.

    All of it is as it was at one moment, and a file appears only when it is complete. Texts that a
    spreadsheet would calculate (they begin with = + - @) have an apostrophe before them in csv, and are
    marked as text in xlsx.
    """
    import lightwell.entrypoints.cli.exporting as exporting
    from lightwell.entrypoints.cli.edge import run

    asked = exporting.ExportOptions(
        path=path,
        format=file_format,
        entities=not no_entities,
        relations=not no_relations,
        chunks=chunks,
        vectors=vectors,
        batch_size=batch_size,
        replace=force,
    )
    run(exporting.export(asked, who or []), as_json=as_json, verbose=verbose)


@app.command(epilog="\b\nExamples:\n  lightwell worker\n  lightwell worker --verbose")
def worker(*, as_json: Json = False, verbose: Verbose = False) -> None:
    """Process enqueued documents until SIGINT (Ctrl-C) or SIGTERM.

    Any number may run at once, on any machine that reaches the database. The first signal lets the
    documents in hand come to their end, the second stops at once; either way nothing is lost.
    """
    import lightwell.entrypoints.cli.writing as writing
    from lightwell.entrypoints.cli.edge import run

    run(writing.work(), as_json=as_json, verbose=verbose)


@app.command(epilog="\b\nExamples:\n  lightwell doctor\n  lightwell doctor --json")
def doctor(*, as_json: Json = False, verbose: Verbose = False) -> None:
    """Check settings, database and models, and report problems with their fixes.

    Exit code 1 says that something was found.
    """
    import lightwell.entrypoints.cli.reading as reading
    from lightwell.entrypoints.cli.edge import run

    run(reading.doctor(), as_json=as_json, verbose=verbose)
