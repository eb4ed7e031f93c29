"""What HTTP takes and gives, as models that OpenAPI describes. Their keys are those of the command line's `--json`.

One module for each subject. `Schema` is the base of all models; a list has `PageQuery` for its query parameters and `NextAfter`
beside its items, cut by `cut_page`.
"""

from collections.abc import Callable, Sequence
from typing import Annotated, TypeVar
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from lightwell.domain.errors import Invalid

T = TypeVar("T")

MAX_PAGE = 1000

NextAfter = Annotated[
    str | None, Field(description="`after` of the next page; null on the last page.")
]


class Schema(BaseModel):
    """Keys in camelCase; an unknown key is an error."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True
    )


class PageQuery(Schema):
    """The query parameters of a list; its filters are fields of a subclass."""

    limit: Annotated[int, Field(ge=1, le=MAX_PAGE, description="How many items, at most.")] = 100
    after: Annotated[
        str,
        Field(max_length=4000, description="`nextAfter` of the page before; empty for the first."),
    ] = ""

    @property
    def after_id(self) -> UUID | None:
        """`after` where it is an id, None for the first page; raise `Invalid` for any other text."""
        try:
            return UUID(self.after) if self.after else None
        except ValueError:
            raise Invalid(
                f"{self.after!r} is not where this list continues; take `nextAfter`"
            ) from None


def cut_page(
    found: Sequence[T], query: PageQuery, key: Callable[[T], str]
) -> tuple[Sequence[T], str | None]:
    """Return the page, and `nextAfter`; `found` is one item longer than the page where another page follows."""
    page = found[: query.limit]
    return page, key(page[-1]) if len(found) > query.limit else None
