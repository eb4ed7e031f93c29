"""Registers functions as commands, adds `--json` and `--verbose`, and asks for confirmation."""

import inspect
import sys
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, TypeVar, cast

import typer
from typer.core import TyperCommand

from lightwell.domain.errors import LightwellError
from lightwell.entrypoints.cli.options import (
    MATCHING,
    ONLY,
    As,
    Json,
    Server,
    Verbose,
    parse_filters,
)

if TYPE_CHECKING:
    from typer._click import Context  # Typer does not export it

    from lightwell.entrypoints.cli.asking import Asker
    from lightwell.entrypoints.cli.execution import Report

Work = Coroutine[None, None, "Report"]
"""What a command's function returns: the work, whose result is the report."""

F = TypeVar("F", bound=Callable[..., Work])

_ASKING = {
    "asker": (("who", None, As), ("server", None, Server)),
    "administrator": (("server", None, Server),),
}
"""The options that are added for a parameter of this name."""
_FILTERS = {"only": ONLY, "matching": MATCHING}
"""The options that a parameter of this name takes together, as `DocumentFilters`."""
_AT_THE_END = (("as_json", False, Json), ("verbose", False, Verbose))


class QuestionCommand(TyperCommand):
    """A command that takes one question. A shell splits a question into several arguments unless it is quoted."""

    allow_extra_args = True

    def parse_args(self, ctx: "Context", args: list[str]) -> list[str]:
        """Parse; end with a usage error that says to quote the question where there are several arguments."""
        rest = super().parse_args(ctx, args)
        if ctx.args:
            ctx.fail(f'Got more than one argument. Quote the question: {ctx.command_path} "..."')
        return rest


def new_group(summary: str, *examples: str) -> typer.Typer:
    """Return a group of commands with a help text and examples."""
    group = typer.Typer(
        help=summary,
        epilog=_epilog(examples),
        no_args_is_help=True,
        rich_markup_mode=None,
        add_completion=False,
    )
    group.callback()(_no_options)  # with a callback it is a group, also of a single command
    return group


def single_command() -> typer.Typer:
    """Return the Typer app of one command that belongs to no group."""
    return typer.Typer(rich_markup_mode=None, add_completion=False)


def command(
    group: typer.Typer,
    name: str,
    *examples: str,
    cls: type[TyperCommand] = TyperCommand,
    audited: str = "",
) -> Callable[[F], F]:
    """Return a decorator that makes a function the command `name` of the group.

    The function returns a coroutine that returns the report. Its docstring is the help text. `--json` and `--verbose`
    are added to its options; it takes `as_json` where it needs to know, and `only` or `matching` for the filters by document. Where it takes an `asker`, `--as` and `--server` are added, too, for an `administrator` only `--server`.
    `audited` is its name in the audit log, "" where it is not audited.
    """

    def register(function: F) -> F:
        group.command(
            name, cls=cls, epilog=_epilog(examples), short_help=_first_paragraph(function)
        )(_callback(function, audited))
        return function

    return register


def confirm(question: str, *, yes: bool) -> None:
    """Ask for confirmation; end the command if the answer is no, or if there is no terminal to ask on.

    Not for a coroutine: the event loop would swallow the first Ctrl-C.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise typer.BadParameter(
            "this command asks for confirmation, and there is no terminal; add --yes",
            param_hint="--yes",
        )
    typer.confirm(question, abort=True, err=True)


def _callback(function: Callable[..., Work], audited: str) -> Callable[..., None]:
    """Return what Typer calls: it runs the function with the parsed arguments, and prints its report."""
    declared = inspect.signature(function)
    asking = next((name for name in _ASKING if name in declared.parameters), "")
    takes_json = "as_json" in declared.parameters
    taken = next((name for name in _FILTERS if name in declared.parameters), "")
    filters = _FILTERS.get(taken, ())

    def callback(*, as_json: bool, verbose: bool, **arguments: object) -> None:
        from lightwell.entrypoints.cli.execution import run

        if takes_json:
            arguments["as_json"] = as_json
        if filters:
            arguments[taken] = parse_filters(arguments)
        try:
            work = _ask(function, asking, arguments) if asking else function(**arguments)
        except LightwellError as error:
            work = _fail(error)
        opens_here = asking != "asker"
        run(work, as_json=as_json, verbose=verbose, audited=audited, opens_here=opens_here)

    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=option)
        for name, default, option in (*filters, *_ASKING.get(asking, ()), *_AT_THE_END)
    ]
    parameters = [
        parameter
        for name, parameter in declared.parameters.items()
        if name not in ("as_json", *_FILTERS, *_ASKING)
    ]
    signature = declared.replace(parameters=[*parameters, *added], return_annotation=None)
    vars(callback)["__signature__"] = signature
    callback.__annotations__ = {
        parameter.name: parameter.annotation for parameter in signature.parameters.values()
    }
    callback.__doc__ = function.__doc__
    return callback


def _ask(function: Callable[..., Work], asking: str, arguments: dict[str, object]) -> Work:
    """Return the work of a command that takes an asker or an administrator; an asker's reports what models cost that were called here."""
    from lightwell.entrypoints.cli.asking import Administrator, Asker
    from lightwell.entrypoints.cli.remote import require_server

    server = cast("str | None", arguments.pop("server"))
    if asking == "administrator":
        login = require_server(server) if server else None  # a saved login is not used
        return function(**arguments, administrator=Administrator(login=login))
    asker = Asker(cast("list[str] | None", arguments.pop("who")), server)
    return _with_costs(function(**arguments, asker=asker), asker)


async def _with_costs(work: Work, asker: "Asker") -> "Report":
    from lightwell.entrypoints.cli.costs import with_costs

    async with asker:
        report = await work
    return with_costs(report, asker.meter)


async def _fail(error: LightwellError) -> "Report":
    """Raise what a command found before its work began, where it is reported as every error is."""
    raise error


def _no_options() -> None:
    pass


def _first_paragraph(function: Callable[..., object]) -> str:
    """Return what a list of commands shows; Typer by itself would cut it off."""
    return " ".join((inspect.getdoc(function) or "").split("\n\n")[0].split())


def _epilog(examples: tuple[str, ...]) -> str:
    return "\n".join(["\b", "Examples:", *(f"  {example}" for example in examples)])
