"""What a model that looks twice may ask for: its reply is read as one action, however it is written."""

import json
from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightwell.answer.looking.actions import (
    ACTION_SCHEMA,
    LONGEST_QUERY,
    Action,
    ActionKind,
    parse_action,
)
from lightwell.domain.questions import NO_FILTERS, Filters, Question
from tests.generation import examples

SEARCH = Action(kind=ActionKind.SEARCH, query="Who leads it?")


@pytest.mark.parametrize(
    ("reply", "action"),
    [
        ('{"action": "search", "query": "Who leads it?"}', SEARCH),
        ('```json\n{"action": "SEARCH", "query": " Who\\u0000 leads\\nit?", "since": ""}\n```', SEARCH),
        ('<think>{hm} "open"?</think> So: {"action": "search", "query": "Who leads it?", "passage": null}', SEARCH),
        ('{"action": "open", "passage": "[2]"}', Action(kind=ActionKind.OPEN, passage=2)),
        ('{"action": "open", "passage": -1e9999}', Action(kind=ActionKind.OPEN)),
        ('{"action": "open", "passage": "2f1c9b8e-0000-7000-8000-000000000001"}', Action(kind=ActionKind.OPEN)),
        ('{"action": "find", "passage": 2.0, "query": "fee"}', Action(kind=ActionKind.FIND, passage=2, query="fee")),
        ('{"action": "neighbours", "query": "Nordwind"}', Action(kind=ActionKind.NEIGHBOURS, query="Nordwind")),
        ('{"action": "answer"}', Action(kind=ActionKind.ANSWER)),
        ('{"action": "search", "query": "x", "system": "linear", "type": "issue", "since": "2026-05-01T00:00", "until": "soon"}',
         Action(kind=ActionKind.SEARCH, query="x", system="linear", type="issue", since=date(2026, 5, 1))),
    ],
)  # fmt: skip
def test_an_action_is_read_however_a_model_writes_it(reply: str, action: Action) -> None:
    assert parse_action(reply) == action


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "I would search for the pump.",
        "[]",
        '{"action": "delete", "query": "all"}',
        '{"action": "search", "query": " \\u0000?! "}',
        '{"action": "find", "query": "?", "passage": 1}',
        '{"action": ["search"], "query": "x"}',
        '{"answerable": true, "sentences": []}',
        "{" * 100_000,
        '{"action": "search", "query": "' + "x" * 100_000,
    ],
)
def test_nonsense_is_no_action(reply: str) -> None:
    assert parse_action(reply) is None


WRITTEN = st.dictionaries(
    st.sampled_from(["action", "query", "passage", "system", "type", "since", "until"]),
    st.text() | st.integers() | st.floats() | st.none() | st.sampled_from([*ActionKind, "x" * 999]),
)


@given(WRITTEN, st.text(max_size=20))
@examples(200)
def test_whatever_a_model_writes_makes_a_valid_question(
    written: dict[str, object], before: str
) -> None:
    action = parse_action(before + json.dumps(written))
    if action is None:
        return
    assert len(action.query) <= LONGEST_QUERY
    assert action.query.isprintable()
    assert action.passage >= 0
    filters = action.narrow(NO_FILTERS)
    if action.kind is ActionKind.SEARCH:
        Question(text=action.query, filters=filters)


def test_a_search_only_narrows_what_the_question_asks_for() -> None:
    own = Filters(topic="t", systems=("linear",), since=date(2026, 1, 1), until=date(2026, 6, 30))
    action = Action(
        kind=ActionKind.SEARCH,
        query="x",
        system="file",
        type="issue",
        since=date(2025, 1, 1),
        until=date(2026, 3, 1),
    )
    narrowed = Filters(
        topic="t",
        systems=("linear",),
        kinds=("issue",),
        since=date(2026, 1, 1),
        until=date(2026, 3, 1),
        from_words=False,
    )
    assert action.narrow(own) == narrowed
    later = Action(kind=ActionKind.SEARCH, query="x", since=date(2026, 7, 1))
    assert later.narrow(own) == replace(own, from_words=False)


def test_the_schema_is_strict() -> None:
    properties = ACTION_SCHEMA["properties"]
    assert isinstance(properties, dict)
    assert ACTION_SCHEMA["required"] == [*properties]
    assert ACTION_SCHEMA["additionalProperties"] is False
