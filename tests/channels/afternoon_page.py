"""docs/channels/afternoon.md, written from what was said: `make afternoon`."""

import re
from collections.abc import Iterator

from tests.channels.afternoon import Afternoon, Line

HEAD = """\
# An afternoon with the bot

What three people of the example company asked in Telegram, word for word. `make afternoon` writes this page from `tests/channels/test_afternoon.py`, where it happens on
the client libraries of Telegram and of Slack against stand-ins for both; on Slack the same is said, and commands have no slash. `▸` begins a quotation, which opens when one
touches it; what stands below an answer in `[ ]` are its buttons.

Tomas leads sales and has accounts in Attio, Linear and Chatwoot. Grace has one in Attio and reads the papers of sales; Bob has them in Linear and Chatwoot and reads those
of support. Mallory is nobody here.
"""
_SPECIAL = re.compile(r"([\\`*_<>#|~\[\]])")
_MOST_LINES, _LONGEST_LINE, _MOST_BUTTONS = 14, 220, 6


def page(day: Afternoon) -> str:
    """Return the page about an afternoon."""
    parts = [HEAD]
    for title, lines in day.chapters.items():
        parts += [f"## {title}\n", *map(_shown, lines)]
    return "\n".join(parts)


def _shown(line: Line) -> str:
    if not line.who:
        return f"_{_escaped(line.text)}_\n"
    if not line.is_bot:
        where = f" ({line.where})" if line.where else ""
        pressed = re.fullmatch(r"\[.+\]", line.text)
        done = f" presses `{line.text}`" if pressed else f": {_escaped(line.text)}"
        return f"**{line.who}**{where}{done}\n"
    return "\\\n".join(f"> {text}" for text in _answer(line)) + "\n"


def _answer(line: Line) -> Iterator[str]:
    yield f"_{line.where}_"
    said = [text for text in line.text.splitlines() if text.strip()]
    for text in said[:_MOST_LINES]:
        yield _escaped(text if len(text) <= _LONGEST_LINE else f"{text[:_LONGEST_LINE]}…").strip()
    if len(said) > _MOST_LINES:
        yield "…"
    if line.buttons:
        more = " …" if len(line.buttons) > _MOST_BUTTONS else ""
        yield " ".join(f"`[{_bare(label)}]`" for label in line.buttons[:_MOST_BUTTONS]) + more


def _bare(label: str) -> str:
    return label.strip("[]")


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)
