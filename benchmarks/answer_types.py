"""How well the kind of thing that a question asks for tells sentences that answer from others: `python -m benchmarks answer_types FILE`.

FILE is in SQuAD's format; `training/DATA.md` names where its training set can be had. For every question that asks for an amount, a day
or a person: how much of it do the sentences with the answer lack, and up to three other sentences of the paragraph?
"""

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from lightwell.evaluation.measures import auroc
from lightwell.text.answer_types import AnswerType, expected_answer, lacking_share
from lightwell.text.sentences import sentence_spans
from training import sources
from training.sources import Paragraph

SEED, SHARE, QUESTIONS, OTHERS = 3, 0.35, 2, 3
"""Of this share of the paragraphs, so many questions each, and so many other sentences for each."""
_LEAST = 30


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
            if len(kinds) != 1 or asked.start < 0:
                continue
            [kind] = kinds
            answers = [each for each in spans if each[0] < asked.end and asked.start < each[1]]
            told = " ".join(paragraph.text[start:end] for start, end in answers)
            yield kind, True, lacking_share(told, expected, context=paragraph.head)
            words = paragraph.text[asked.start : asked.end]
            others = [paragraph.text[start:end] for start, end in spans]
            for other in [each for each in others if words not in each][:OTHERS]:
                yield kind, False, lacking_share(other, expected, context=paragraph.head)


def main(arguments: Sequence[str] = ()) -> None:
    found: defaultdict[AnswerType, tuple[list[float], list[float]]] = defaultdict(lambda: ([], []))
    for kind, is_answer, lacking in measured(list(sources.squad(Path(arguments[0])))):
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
