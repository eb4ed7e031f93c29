"""The options of the commands that edit the graph."""

from typing import Annotated

import typer

from lightwell.domain.errors import Invalid
from lightwell.domain.graph import Predicate, parse_predicate

For = Annotated[
    list[str] | None,
    typer.Option(
        "--acl",
        metavar="TAG",
        help="Who may see your change: team:sales. Several by commas, or by repeating the option. "
        "By default those of your groups whose documents mention the entity.",
    ),
]


Kind = Annotated[
    str, typer.Option("--kind", metavar="KIND", help="One word: person, organization, term.")
]


Description = Annotated[str, typer.Option("--description", metavar="TEXT", help="The description.")]


Sources = Annotated[
    list[str] | None,
    typer.Option(
        "--source",
        metavar="PASSAGE",
        help="A passage that supports it, by reference or id (`lightwell documents passages`). Repeat it for several.",
    ),
]


Aliases = Annotated[
    list[str] | None,
    typer.Option(
        "--alias",
        metavar="NAME",
        help="Another name that finds it. Repeat it for several; they replace those that documents state.",
    ),
]


Category = Annotated[
    str, typer.Option("--category", metavar="TEXT", help="Its category: algorithm, theorem.")
]


Difficulty = Annotated[
    str, typer.Option("--difficulty", metavar="TEXT", help="Its difficulty: beginner, advanced.")
]


Words = Annotated[
    list[str] | None,
    typer.Option(
        "--tag",
        metavar="WORD",
        help="A word for what it is about, not an access tag. Repeat it for several; they replace those that documents state.",
    ),
]


def _predicate(word: str) -> Predicate:
    try:
        return parse_predicate(word)
    except Invalid as error:
        raise typer.BadParameter(str(error)) from error


Related = Annotated[
    Predicate,
    typer.Option(
        "--predicate",
        metavar="PREDICATE",
        help=f"How the first is related to the second: {', '.join(Predicate)}.",
        parser=_predicate,
    ),
]
