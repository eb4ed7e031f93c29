"""What became of a vendor's rows: the results that connectors of rows share, and the page that they make."""

from collections.abc import Sequence

from pydantic import ValidationError

from lightwell.connectors.api_client import ResponseTooLarge
from lightwell.domain.ids import GlobalRef
from lightwell.domain.source_items import ItemPage, SourceItem, UnreadableItem

Result = SourceItem | UnreadableItem | GlobalRef
"""What became of a row: an item, a reason why not, or the reference of what is gone."""


def make_page(results: Sequence[Result], cursor: str) -> ItemPage:
    """Return the results as a page."""
    return ItemPage(
        items=tuple(each for each in results if isinstance(each, SourceItem)),
        cursor=cursor,
        removed=tuple(each for each in results if isinstance(each, str)),
        unreadable=tuple(each for each in results if isinstance(each, UnreadableItem)),
    )


def make_too_large(ref: GlobalRef, error: ResponseTooLarge) -> UnreadableItem:
    """Return the item whose parts are too large to be read; the others of its page are not concerned."""
    return UnreadableItem(ref=ref, reason="too_large", message=str(error))


def make_unreadable(vendor: str, ref: GlobalRef, error: ValidationError) -> UnreadableItem:
    """Return the item that a row does not fit; its message names the fields, and no value."""
    fields = sorted({".".join(map(str, each["loc"][:2])) for each in error.errors()})
    message = f"{vendor} sent it in a form that is not known: {', '.join(fields)}"
    return UnreadableItem(ref=ref, reason="unknown_form", message=message)
