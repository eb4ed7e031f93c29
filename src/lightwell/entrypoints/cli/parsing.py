"""Where the command line differs from Typer's: the order of commands, and questions without quotes."""

from typing import TYPE_CHECKING

from typer.core import TyperCommand, TyperGroup

if TYPE_CHECKING:
    from typer._click import Context  # Typer does not export it

_ORDER = (
    "demo ingest ask search brief chat conversations documents graph export status doctor worker jobs runs"
    " keywords feedback analytics eval project"
).split()


class Commands(TyperGroup):
    """The commands in the order in which people meet them."""

    def list_commands(self, ctx: "Context") -> list[str]:
        """Return the names of the commands, those that `_ORDER` lacks last."""
        names = super().list_commands(ctx)
        return sorted(names, key=lambda name: _ORDER.index(name) if name in _ORDER else len(_ORDER))


class QuestionCommand(TyperCommand):
    """A command on one question, which a shell splits into words unless it is quoted."""

    allow_extra_args = True

    def parse_args(self, ctx: "Context", args: list[str]) -> list[str]:
        """Parse; end with a usage error that says to quote the question where there are several arguments."""
        rest = super().parse_args(ctx, args)
        if ctx.args:
            ctx.fail(f'Got more than one argument. Quote the question: {ctx.command_path} "..."')
        return rest
