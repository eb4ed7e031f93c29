"""What can be said about a whole project."""

import sys
from typing import Annotated

import typer

from lightwell.entrypoints.cli.commands import Json, Verbose

project = typer.Typer(
    help="Delete a whole project.",
    epilog="\b\nExamples:\n  lightwell project delete trial --yes",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@project.callback()
def _project() -> None:
    """Delete a whole project."""


@project.command("delete", epilog="\b\nExamples:\n  lightwell project delete trial --yes")
def delete_project(
    name: Annotated[
        str,
        typer.Argument(metavar="PROJECT", help="Its name, as LIGHTWELL_PROJECT has it."),
    ],
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Skip the confirmation.")] = False,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Delete a project and all that belongs to it, whoever may see it; the files themselves stay."""
    import lightwell.entrypoints.cli.projects as projects
    from lightwell.entrypoints.cli.edge import run

    if not yes and not sys.stdin.isatty():
        raise typer.BadParameter(
            "this command asks for confirmation, and there is no terminal; add --yes",
            param_hint="--yes",
        )
    if not yes:
        typer.confirm(f"Delete the project {name} and all that is in it?", abort=True, err=True)
    run(projects.delete(name), as_json=as_json, verbose=verbose)
