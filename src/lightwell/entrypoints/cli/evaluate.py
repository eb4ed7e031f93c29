"""The arguments and options of `lightwell eval`; `evaluating` does the work."""

from pathlib import Path
from typing import Annotated

import typer

from lightwell.entrypoints.cli.options import (
    Json,
    LookTwice,
    SearchMode,
    SearchWhere,
    Verbose,
)

evaluation = typer.Typer(rich_markup_mode=None, add_completion=False)

Folder = Annotated[
    Path,
    typer.Argument(
        metavar="DATASET",
        exists=True,
        file_okay=False,
        help="A folder with questions.jsonl, and with documents/, documents.tar.gz or corpus.jsonl.",
    ),
]
Documents = Annotated[
    Path | None,
    typer.Option(
        "--documents",
        metavar="PATH",
        exists=True,
        help="The documents, a folder or a .tar.gz, if they are not in DATASET.",
    ),
]
Cases = Annotated[
    int,
    typer.Option("--cases", metavar="N", min=0, help="Show the N worst answers, with the reason."),
]
Most = Annotated[
    int,
    typer.Option(
        "--limit-questions", metavar="N", min=0, help="Ask at most N, spread over all; 0 asks all."
    ),
]
Split = Annotated[
    str, typer.Option("--split", metavar="NAME", help="Only questions of this split: dev, test.")
]
Ablate = Annotated[
    bool,
    typer.Option(
        "--ablate", help="Ask again without each channel, and in each mode; this takes long."
    ),
]
Calibrate = Annotated[
    bool,
    typer.Option(
        "--calibrate",
        help="Find LIGHTWELL_RERANK_SCALE and LIGHTWELL_RERANK_SHIFT from the split dev.",
    ),
]
Fresh = Annotated[
    bool,
    typer.Option("--fresh", help="Ingest everything again, for example after a code change."),
]
Save = Annotated[
    Path | None,
    typer.Option(
        "--save", metavar="FILE", dir_okay=False, help="Write the results to this file, as JSON."
    ),
]
Compare = Annotated[
    Path | None,
    typer.Option(
        "--compare",
        metavar="FILE",
        exists=True,
        dir_okay=False,
        help="Show what got better and what got worse since saved results.",
    ),
]
Page = Annotated[
    Path | None,
    typer.Option(
        "--report",
        metavar="FILE",
        dir_okay=False,
        help="Write the comparison to this file as an HTML page, with both answers side by side.",
    ),
]


@evaluation.command(
    "eval",
    epilog="\b\nExamples:\n  lightwell eval ./handbook-questions --split dev\n"
    "  lightwell eval ./handbook-questions --documents ./handbook --cases 30\n"
    "  lightwell eval ./handbook-questions --save new.json --compare old.json --report page.html\n"
    "  lightwell eval ./passages --limit-questions 50 --ablate",
)
def evaluate(  # noqa: PLR0913 - the options of a command are its arguments
    folder: Folder,
    *,
    documents: Documents = None,
    limit_questions: Most = 0,
    split: Split = "",
    mode: SearchWhere = SearchMode.MIX,
    look_twice: LookTwice = False,
    ablate: Ablate = False,
    calibrate: Calibrate = False,
    fresh: Fresh = False,
    cases: Cases = 10,
    save: Save = None,
    compare: Compare = None,
    report: Page = None,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Ask questions whose answers are known, and report how many are answered correctly and where answers are lost.

    The questions on a collection of documents are asked as a user asks, also through your chat model. A set of passages
    (corpus.jsonl) measures retrieval, and each question is asked again by a reader who may not see what answers it.
    Everything goes into a separate store, which the next run uses again; your projects are not touched.
    """
    import lightwell.entrypoints.cli.evaluating as evaluating
    from lightwell.entrypoints.cli.execution import run

    plan = evaluating.Plan(
        folder=folder,
        documents=documents,
        max_questions=limit_questions,
        split=split,
        mode=mode.mode,
        look_twice=look_twice,
        ablate=ablate,
        calibrate=calibrate,
        fresh=fresh,
        cases=cases,
        save=save,
        compare=compare,
        page=report,
    )
    run(evaluating.evaluate(plan), as_json=as_json, verbose=verbose)
