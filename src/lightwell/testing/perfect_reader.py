"""A simulated chat model that always finds the expected answer in its prompt, and quotes it.

If an evaluation with it has a wrong answer, Lightwell lost the answer: at the relevance threshold, in the choice of the context,
or in verification. Where it may look twice, it searches each part of a question by itself, and a hop with the answers of those before it. `python -m lightwell.testing.perfect_reader QUESTIONS -- COMMAND ...` runs a command with it as the chat model of the environment.
"""

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import cast

from pydantic import BaseModel

from lightwell.answer.prompt import Prompt
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

_CLAUSE = regex(
    r"(?:[,;:.?]{1,9}\s{1,9}(?:and\s{1,9})?|\s{1,9}(?:and|compared with)\s{1,9})", re.IGNORECASE
)
_HOP = regex(r"#(\d)")


class Hop(BaseModel):
    """A step of a question that leads from document to document: `#1` in it is the first hop's answer; `evidence` stands where it is read."""

    question: str
    answer: str
    evidence: str = ""


class PerfectReader(ScriptedModel):
    """Replies, in the form asked for, with the sentences of its context that together contain the expected answer, each quoted.

    `expected` are the groups of words of each question, and `hops` the steps of some. Where the context lacks one of them, or the
    question is not among them, it replies that the question is not answerable.
    """

    model = "perfect-reader"

    def __init__(
        self,
        expected: Mapping[str, Sequence[AnswerGroup]],
        hops: Mapping[str, Sequence[Hop]] = MappingProxyType({}),
    ) -> None:
        self._expected = {normalize(text): tuple(groups) for text, groups in expected.items()}
        self._hops = {normalize(text): tuple(steps) for text, steps in hops.items()}
        super().__init__(self.say)

    def say(self, messages: Sequence[Message]) -> str:
        """Return the reply to these messages."""
        if messages[0].content == Prompt.LOOK.text:
            return self._look(messages)
        sent = messages[-1].content
        match = _QUESTION.search(sent)
        key = normalize(match[1]) if match else ""
        is_read = _next_hop(self._hops.get(key, ()), sent) is None
        groups = self._expected.get(key, ()) if is_read else ()
        chosen = _cover(groups, list(_sentences(sent)))
        sentences = [{"quotes": [text], "text": text} for text in chosen]
        reply = {"answerable": True, "sentences": sentences}
        return json.dumps(reply, ensure_ascii=False) if chosen else NOT_ANSWERABLE

    def _look(self, messages: Sequence[Message]) -> str:
        """Return what to look at next: the next hop, or the next part of the question while words of the answer are missing."""
        match = _QUESTION.search(messages[1].content)
        question = match[1] if match else ""
        key = normalize(question)
        read = "\n".join(message.content for message in messages if message.role == "user")
        hops = self._hops.get(key, ())
        if hops:
            wanted = [hop] if (hop := _next_hop(hops, read)) else []
        else:
            is_missing = missing_groups(self._expected.get(key, ()), read)
            wanted = [part for part in _CLAUSE.split(question) if is_missing and " " in part]
        done = {message.content for message in messages if message.role == "assistant"}
        actions = [json.dumps({"action": "search", "query": query}) for query in wanted]
        return next((action for action in actions if action not in done), '{"action": "answer"}')

    @classmethod
    def from_questions(cls, path: Path) -> "PerfectReader":
        """Return the reader that knows the answers of a collection's `questions.jsonl`; raise `Invalid`."""
        lines = [parse_line(_Question, where, line) for where, line in read_lines(path)]
        return cls(
            {line.question: [tuple(group) for group in line.answer_any] for line in lines},
            {line.question: line.hops for line in lines},
        )


class _Question(BaseModel):
    question: str
    answer_any: list[list[str]]
    hops: list[Hop] = []


def _next_hop(hops: Sequence[Hop], read: str) -> str | None:
    """Return the question of the first hop that was not read, with the answers of those before it; None after the last."""
    text = normalize(read)
    for hop in hops:
        if normalize(hop.evidence) not in text:
            return _HOP.sub(lambda match: hops[int(match[1]) - 1].answer, hop.question)
    return None


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
