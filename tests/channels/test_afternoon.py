"""An afternoon over the company's three systems, on aiogram and on slack-bolt: the same scenario, and what people read on both."""

import asyncio
import os
import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from uuid import uuid4

import psycopg
from psycopg import conninfo, sql

from tests.channels.afternoon import LINKING, Afternoon, Line, afternoon, fill, spend
from tests.channels.afternoon_page import page
from tests.channels.messengers import QUOTE, slack, telegram
from tests.conftest import Databases

PAGE = Path("docs/channels/afternoon.md")


async def test_s2_15_three_people_a_group_and_a_restart_on_telegram_and_on_slack(
    databases: Databases,
) -> None:
    with databases.lent() as url, copied(databases, url) as (other, copy):
        await fill(url)
        copy()
        async with (
            telegram() as first,
            slack() as second,
            afternoon(url, first) as on_telegram,
            afternoon(other, second) as on_slack,
            asyncio.TaskGroup() as group,
        ):
            group.create_task(spend(on_telegram))
            group.create_task(spend(on_slack))
    compare(on_telegram, on_slack)


def compare(on_telegram: Afternoon, on_slack: Afternoon) -> None:
    """Hold what was said on one platform against the other, and against the page."""
    if written := os.environ.get("AFTERNOON"):
        Path(written).write_text(page(on_telegram))
    for title, lines in on_telegram.chapters.items():
        if title == LINKING:  # by codes, and in a trusted workspace without
            continue
        ours, theirs = steps(lines), steps(on_slack.chapters[title])
        assert [step.key for step in ours] == [step.key for step in theirs], title
        for one, other in zip(ours, theirs, strict=True):
            assert one.plain <= other.plain | other.small, title
            assert other.plain <= one.plain | one.small, title
    assert page(on_telegram) == PAGE.read_text(), "`make afternoon` writes the page"


@dataclass(frozen=True, slots=True)
class Step:
    """What was said to somebody at once: who, where and with which buttons, and the words of each line, those in small print apart, since each platform shortens it in its own way."""

    key: tuple[object, ...]
    plain: set[str]
    small: set[str]


def steps(lines: list[Line]) -> list[Step]:
    return [
        _step(key, list(group))
        for key, group in groupby(lines, key=lambda line: (line.who, line.where, line.is_bot))
    ]


def _step(key: tuple[object, ...], lines: list[Line]) -> Step:
    said = [text for line in lines for text in line.text.splitlines()]
    small = [text for text in said if text.startswith(QUOTE)]
    return Step(
        (*key, *(label for line in lines for label in line.buttons)),
        {_words(text) for text in said if text not in small} - {""},
        {_words(text) for text in small},
    )


def _words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text))


@contextmanager
def copied(databases: Databases, url: str) -> Generator[tuple[str, Callable[[], None]]]:
    """Yield the address of a second database, and what makes it as a copy of the first; the company is read once."""
    name = f"lightwell_{uuid4().hex[:8]}"
    first = conninfo.conninfo_to_dict(url)["dbname"]
    statement = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy")

    def copy() -> None:
        with psycopg.connect(databases.server, autocommit=True) as connection:
            connection.execute(statement.format(sql.Identifier(name), sql.Identifier(str(first))))

    try:
        yield conninfo.make_conninfo(databases.server, dbname=name), copy
    finally:
        databases.drop(name)
