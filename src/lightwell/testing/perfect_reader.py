"""A simulated chat model that always finds the expected answer in its prompt, and quotes it.

If an evaluation with it has a wrong answer, Lightwell lost the answer: at the relevance threshold, in the choice of the context,
or in verification. `python -m lightwell.testing.perfect_reader QUESTIONS -- COMMAND ...` runs a command with it as the chat model of the environment.
"""

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import cast

from pydantic import BaseModel

from lightwell.evaluation.correctness import AnswerGroup, missing_groups, normalize
from lightwell.evaluation.jsonl import parse_line, read_lines
from lightwell.ports import Message
from lightwell.testing.endpoint import FakeEndpoint
from lightwell.testing.models import ScriptedModel
from lightwell.text.regex import regex
from lightwell.text.units import unit_spans

NOT_ANSWERABLE = json.dumps({"answerable": False, "sentences": []})

_PASSAGE = regex(r"^\[\d+\]\n(~{3,})\n(.*?)\n\1$", re.MULTILINE | re.DOTALL)
_QUESTION = regex(r"^Question: (.*)\Z", re.MULTILINE | re.DOTALL)
_MARKER = regex(r"^(?:[-*+•]|\d{1,9}[.)])\s")


class PerfectReader(ScriptedModel):
    """Replies, in the form asked for, with the sentences of its context that together contain the expected answer, each quoted.

    `expected` are the groups of words of each question. Where the context lacks one of them, or the question is not
    among them, it replies that the question is not answerable.
    """

    model = "perfect-reader"

    def __init__(self, expected: Mapping[str, Sequence[AnswerGroup]]) -> None:
        self._expected = {normalize(text): tuple(groups) for text, groups in expected.items()}
        super().__init__(self.say)

    def say(self, messages: Sequence[Message]) -> str:
        """Return the reply to these messages."""
        sent = messages[-1].content
        match = _QUESTION.search(sent)
        groups = self._expected.get(normalize(match[1]), ()) if match else ()
        chosen = _cover(groups, list(_sentences(sent)))
        sentences = [{"quotes": [text], "text": text} for text in chosen]
        reply = {"answerable": True, "sentences": sentences}
        return json.dumps(reply, ensure_ascii=False) if chosen else NOT_ANSWERABLE

    @classmethod
    def from_questions(cls, path: Path) -> "PerfectReader":
        """Return the reader that knows the answers of a collection's `questions.jsonl`; raise `Invalid`."""
        lines = (parse_line(_Question, where, line) for where, line in read_lines(path))
        return cls({line.question: [tuple(group) for group in line.answer_any] for line in lines})


class _Question(BaseModel):
    question: str
    answer_any: list[list[str]]


def _cover(groups: Sequence[AnswerGroup], sentences: Sequence[str]) -> list[str]:
    """Return few sentences that contain all groups, in their order; [] if there are none."""
    chosen: list[str] = []
    left = tuple(groups)
    while left:
        best = min(
            sentences,
            key=lambda line: (len(missing_groups(left, line)), len(line)),
            default=None,
        )
        rest = missing_groups(left, best) if best else left
        if best is None or len(rest) == len(left):
            return []
        chosen.append(best)
        left = rest
    return sorted(chosen, key=sentences.index)


def _sentences(sent: str) -> Iterator[str]:
    """Yield the units of each passage in the prompt, then each pair of consecutive units."""
    for match in _PASSAGE.finditer(sent):
        text = match[2]
        spans = unit_spans(text)
        for start, end in spans:
            yield _plain(text[start:end])
        for (start, _), (_, end) in pairwise(spans):
            yield _plain(text[start:end])


def _plain(text: str) -> str:
    return " ".join(_MARKER.sub("", text, count=1).split())


def main(arguments: Sequence[str]) -> int:
    """Run the command after `--` with the perfect reader as its chat model, and return its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m lightwell.testing.perfect_reader", description=__doc__
    )
    parser.add_argument("questions", type=Path, help="the collection's questions.jsonl")
    parser.add_argument("command", nargs="+", help="after --: the command")
    parsed = parser.parse_args(arguments)
    reader = PerfectReader.from_questions(parsed.questions)
    with serving(reader).running() as endpoint:
        variables = [
            f"LIGHTWELL_CHAT_URL={endpoint.base_url}",
            f"LIGHTWELL_CHAT_MODEL={reader.model}",
        ]
        command = ["/usr/bin/env", *variables, *parsed.command]
        return subprocess.run(command, check=False).returncode  # noqa: S603  the caller's own command


def serving(reader: PerfectReader) -> FakeEndpoint:
    """Return an endpoint that answers as the reader does."""

    def reply(body: Mapping[str, object]) -> str:
        sent = cast("Sequence[Mapping[str, str]]", body["messages"])
        return reader.say(
            [Message(role=request["role"], content=request["content"]) for request in sent]
        )

    return FakeEndpoint(reply)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
