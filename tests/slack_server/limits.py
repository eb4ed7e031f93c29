"""What Slack refuses of a message: its models' own limits, and those that only its documentation tells."""

from collections.abc import Iterator, Sequence
from typing import Any, cast

from slack_sdk.errors import SlackObjectFormationError
from slack_sdk.models.blocks import Block

MOST_BLOCKS, MOST_TEXT, MOST_IN_BLOCKS = 50, 40_000, 13_200
_IN_RICH_TEXT = {
    "rich_text_section",
    "rich_text_list",
    "rich_text_quote",
    "rich_text_preformatted",
}
_INLINE = {"text", "link", "user", "usergroup", "channel", "emoji", "broadcast", "date", "color"}
_PLAIN, _VALUE, _URL, _ACTION_ID, _LABEL = 3000, 2000, 3000, 255, 75


def refusal(text: object, blocks: object) -> str:
    """Return the word with which Slack refuses a message, "" where it takes it."""
    if blocks is not None and not isinstance(blocks, list):
        return "invalid_blocks_format"
    shown = cast("list[dict[str, Any]]", blocks or [])
    if not text and not shown:
        return "no_text"
    if isinstance(text, str) and len(text) > MOST_TEXT:
        return "msg_too_long"
    if len(shown) > MOST_BLOCKS or any(problem(block) for block in shown):
        return "invalid_blocks"
    ids = [block["block_id"] for block in shown if "block_id" in block]
    if len(ids) != len(set(ids)):
        return "invalid_blocks"
    return "msg_blocks_too_long" if len(words(shown)) > MOST_IN_BLOCKS else ""


def problem(block: dict[str, Any]) -> str:
    """Return what is wrong with a block, "" for nothing."""
    try:
        parsed = Block.parse(block)
        if parsed is None:
            return "unknown block"
        parsed.validate_json()
    except (SlackObjectFormationError, TypeError, ValueError) as error:
        return str(error)
    if block["type"] == "rich_text":
        return _problem_of_rich_text(block.get("elements"))
    if block["type"] == "actions":
        return _problem_of_buttons(block["elements"])
    texts = [block.get("text"), *block.get("fields", ()), *_texts_in(block.get("elements"))]
    for text in texts:
        if text is not None and not 1 <= len(text.get("text", "")) <= _PLAIN:
            return "text has from 1 to 3000 characters"
    return ""


def words(blocks: Sequence[dict[str, Any]]) -> str:
    """Return what is read in blocks, buttons left out."""
    return "\n".join(
        "".join(item.get("text", "") for item in inline(block)) for block in blocks
    ).strip()


def inline(block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the pieces of text of a block, with what they are: a mention has the type `user` or `broadcast`."""
    if block["type"] == "rich_text":
        for element in block["elements"]:
            lines = element["elements"] if element["type"] == "rich_text_list" else [element]
            for number, line in enumerate(lines):
                yield from ([{"type": "text", "text": "\n"}] if number else [])
                yield from line["elements"]
            yield {"type": "text", "text": "\n"}
    elif block["type"] != "actions":
        texts = (block.get("text"), *block.get("fields", ()), *_texts_in(block.get("elements")))
        yield from (text for text in texts if text)


def buttons(blocks: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the buttons of a message in their order."""
    return [
        element for block in blocks if block["type"] == "actions" for element in block["elements"]
    ]


def _texts_in(elements: Sequence[dict[str, Any]] | None) -> list[dict[str, Any]]:
    return [element for element in elements or () if element["type"] in ("plain_text", "mrkdwn")]


def _problem_of_rich_text(elements: object) -> str:
    if not isinstance(elements, list) or not elements:
        return "rich_text has elements"
    for element in cast("list[dict[str, Any]]", elements):
        if element["type"] not in _IN_RICH_TEXT:
            return f"no element of rich_text: {element['type']}"
        lines = element["elements"] if element["type"] == "rich_text_list" else [element]
        if element["type"] == "rich_text_list" and element.get("style") not in (
            "bullet",
            "ordered",
        ):
            return "a list has a style"
        for item in (item for line in lines for item in line["elements"]):
            if item["type"] not in _INLINE:
                return f"no inline element: {item['type']}"
            if item["type"] == "text" and not item.get("text"):
                return "text is not empty"
            if item["type"] == "link" and not item.get("url"):
                return "a link has a url"
    return ""


def _problem_of_buttons(elements: Sequence[dict[str, Any]]) -> str:
    ids = [element.get("action_id") for element in elements if element.get("action_id")]
    if len(ids) != len(set(ids)) or not elements:
        return "action_id is there once"
    for element in elements:
        label = element.get("text", {})
        if element.get("type") != "button" or label.get("type") != "plain_text":
            return "a button has a plain text"
        sizes = (
            (label.get("text", ""), 1, _LABEL),
            (element.get("value", " "), 1, _VALUE),
            (element.get("url", " "), 1, _URL),
            (element.get("action_id", " "), 1, _ACTION_ID),
        )
        if not all(least <= len(value) <= most for value, least, most in sizes):
            return "a button's text, value, url or action_id is too long, or empty"
    return ""
