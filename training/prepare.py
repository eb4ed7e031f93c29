"""Makes the training examples from the folder that `DATA.md` describes.

uv run python -m training.prepare RAW OUT --seed 11
"""

import argparse
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lightwell.models.cross_encoder import WindowCutter, load_window_cutter
from lightwell.text.sentences import sentence_spans
from training import questions, sources
from training.negatives import Index
from training.sources import Paragraph, Section

WINDOWS = (48, 64, 96, 96, 128, 160)
"""Tokens of text in an example's window; short ones are cheap to train on."""

QUESTIONS_OF_A_PARAGRAPH = 1.45

NONE, OPEN = -1, -2
"""No answer; and an answer that goes on beyond the window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """What an example is cut from. `answer` is the answer's sentences, `exact` its words; (NONE, NONE) where there is none."""

    head: str
    text: str
    answer: tuple[int, int] = (NONE, NONE)
    exact: tuple[int, int] = (NONE, NONE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    question: str
    text: Text
    source: str


class Maker:
    """Makes examples from sources, with one chance for all that is drawn."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def from_paragraphs(self, paragraphs: Sequence[Paragraph], source: str) -> Iterator[Example]:
        """Each question with its paragraph, and with the nearest other paragraph that lacks its answer."""
        index = Index([each.text for each in paragraphs])
        for paragraph in paragraphs:
            for asked in paragraph.asked:
                said = questions.careless(asked.question, self.chance)
                if asked.start < 0:
                    yield Example(
                        question=said,
                        text=Text(head=paragraph.head, text=paragraph.text),
                        source=f"{source}-none",
                    )
                    continue
                answer = _sentences(paragraph.text, asked.start, asked.end)
                text = Text(
                    head=paragraph.head,
                    text=paragraph.text,
                    answer=answer,
                    exact=(asked.start, asked.end),
                )
                yield Example(question=said, text=text, source=source)
                words = paragraph.text[asked.start : asked.end].casefold()
                near = [
                    paragraphs[place]
                    for place in index.nearest(asked.question, 8)
                    if words not in paragraphs[place].text.casefold()
                ]
                if near:
                    other = self.chance.choice(near[:4])
                    yield Example(
                        question=said,
                        text=Text(head=other.head, text=other.text),
                        source=f"{source}-near",
                    )

    def from_articles(self, paragraphs: Sequence[Paragraph], most: float) -> Iterator[Example]:
        """At most so many questions of each paragraph, on average, with the text around their answers, and without an answer.

        Half of the texts without an answer are other paragraphs near to the question. The others are what stands before or
        after the sentences that answer: text about the right thing, which lacks the one fact that is asked for.
        """
        index = Index([each.text for each in paragraphs])
        for at, paragraph in enumerate(paragraphs):
            above, below = sources.beside(paragraphs, at)
            count = int(most) + (self.chance.random() < most % 1)
            for asked in self.chance.sample(paragraph.asked, min(count, len(paragraph.asked))):
                said = questions.careless(asked.question, self.chance)
                before = above[-self.chance.choice((150, 300, 500)) :] if self._half() else ""
                text = f"{before}{paragraph.text}{below[:400] if self._half() else ''}"
                first, last = _sentences(paragraph.text, asked.start, asked.end)
                yield Example(
                    question=said,
                    text=Text(
                        head=paragraph.head,
                        text=text,
                        answer=(len(before) + first, len(before) + last),
                        exact=(len(before) + asked.start, len(before) + asked.end),
                    ),
                    source="squad",
                )
                words = paragraph.text[asked.start : asked.end].casefold()
                near = [paragraphs[place] for place in index.nearest(asked.question, 8)][:4]
                sides = (
                    (above + paragraph.text[:first])[-900:],
                    (paragraph.text[last:] + below)[:900],
                )
                if self._half():
                    texts = [Text(head=each.head, text=each.text) for each in near]
                    source = "squad-near"
                else:
                    texts = [Text(head=paragraph.head, text=one) for one in sides if len(one) > 200]
                    source = "squad-apart"
                lacking = [each for each in texts if words not in each.text.casefold()]
                if lacking:
                    yield Example(question=said, text=self.chance.choice(lacking), source=source)

    def _half(self) -> bool:
        return self.chance.random() < 0.5

    def from_sections(self, pages: Sequence[Sequence[Section]]) -> Iterator[Example]:
        """Headings, sentences and lists of documentation as questions."""
        often = Counter(section.path[-1].casefold() for page in pages for section in page)
        places = [(page, at) for page in pages for at in range(len(page))]
        index = Index(
            [
                f"{page[at].path[0]} {page[at].path[-1]} {page[at].body[:1500]}"
                for page, at in places
            ]
        )
        for number, (page, at) in enumerate(places):
            section = page[at]
            for question, source, where in self._asked(section, often):
                variants = 2 if source == "docs-question" else 1
                for _ in range(variants):
                    said = questions.careless(question, self.chance)
                    yield Example(question=said, text=self._shown(page, at, where), source=source)
                    near = [
                        place
                        for place in index.nearest(said, 12)
                        if abs(place - number) > 1 or places[place][0] is not page
                    ]
                    near = [
                        place
                        for place in near
                        if places[place][0][places[place][1]].path[-1] != section.path[-1]
                    ]
                    if near:
                        other = places[self.chance.choice(near[:6])]
                        yield Example(
                            question=said,
                            text=self._without_answer(*other),
                            source=f"{source}-near",
                        )
                    siblings = [each for each in range(len(page)) if abs(each - at) > 1]
                    if siblings:
                        yield Example(
                            question=said,
                            text=self._without_answer(page, self.chance.choice(siblings)),
                            source=f"{source}-page",
                        )

    def _asked(
        self, section: Section, often: Counter[str]
    ) -> Iterator[tuple[str, str, tuple[int, int] | None]]:
        heading = section.path[-1]
        above = section.path[0] if len(section.path) > 1 else ""
        if often[heading.casefold()] <= 4:
            question = questions.from_heading(heading, above, self.chance)
            if question and questions.is_question(heading):
                yield question, "docs-question", None
            elif question and self.chance.random() < 0.35:
                yield question, "docs-heading", None
        tells = self.chance.random() < 0.3
        spans = [
            span
            for span in (_plain_sentences(section.body) if tells else ())
            if 40 < span[1] - span[0] < 400
        ]
        if spans:
            start, end = self.chance.choice(spans)
            question = questions.from_sentence(section.body[start:end], self.chance)
            if question:
                yield question, "docs-sentence", (start, end)
        listed = _listed(section.body) if self.chance.random() < 0.3 else None
        if listed:
            lead = section.body[listed[0] : listed[1]]
            lead = re.sub(
                r"\b(the following|as follows|these|below)\b", "", lead, flags=re.I
            ).strip(" :*")
            if 4 <= len(lead.split()) <= 25:
                about = f"{lead} {heading}" if self.chance.random() < 0.5 else lead
                yield about, "docs-list", (listed[0], listed[2])

    def _shown(self, page: Sequence[Section], at: int, where: tuple[int, int] | None) -> Text:
        """A section among its neighbours; `where` is the answer in its body, None for all of it.

        Its own heading stands in the text, in the head, or nowhere.
        """
        section = page[at]
        place = self.chance.randrange(3)
        before = (
            page[at - 1].body[-self.chance.choice((0, 200, 500)) or len(page[at - 1].body) :]
            if at
            else ""
        )
        after = ""
        if at + 1 < len(page):
            after = f"\n\n## {page[at + 1].path[-1]}\n\n{page[at + 1].body[:400]}"
        heading = f"\n\n## {section.path[-1]}\n\n" if place == 0 else "\n\n"
        above = section.path if place == 1 else section.path[:-1]
        head = " › ".join(dict.fromkeys((above[0], *above[-2:]))) if above else ""
        text = f"{before}{heading}"
        start, end = where or (0, len(section.body))
        answer = len(text) + start, len(text) + end
        return Text(head=head, text=f"{text}{section.body}{after}", answer=answer, exact=answer)

    def _without_answer(self, page: Sequence[Section], at: int) -> Text:
        """A section among its neighbours that does not answer the question."""
        shown = self._shown(page, at, None)
        return Text(head=shown.head, text=shown.text)

    def from_medquad(
        self, documents: Sequence[Sequence[tuple[str, str, str]]], most: int
    ) -> Iterator[Example]:
        """Each question with its answer among the document's other answers, and with another answer alone."""
        chosen = [(document, at) for document in documents for at in range(len(document))]
        for document, at in self.chance.sample(chosen, min(most, len(chosen))):
            focus, question, answer = document[at]
            if len(answer) < 60:
                continue
            said = questions.careless(question, self.chance)
            before = f"{document[at - 1][2][-400:]}\n" if at else ""
            after = f"\n{document[at + 1][2][:400]}" if at + 1 < len(document) else ""
            span = len(before), len(before) + len(answer)
            yield Example(
                question=said,
                text=Text(head=focus, text=f"{before}{answer}{after}", answer=span, exact=span),
                source="medquad",
            )
            others = [
                each for place, each in enumerate(document) if place != at and len(each[2]) > 60
            ]
            focus, _, other = (
                self.chance.choice(others)
                if others
                else self.chance.choice(self.chance.choice(documents))
            )
            yield Example(question=said, text=Text(head=focus, text=other), source="medquad-near")


_LEAD = re.compile(r"^[^\s*#|-][^\n]{20,200}:[ \t]*$", re.M)
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d+[.)])[ \t]+\S")


def _listed(body: str) -> tuple[int, int, int] | None:
    """Return where the first line that leads to a list begins and ends, and where its list ends."""
    for lead in _LEAD.finditer(body):
        items, end, at = 0, lead.end(), lead.end() + 1
        for line in body[at:].splitlines(keepends=True)[:24]:
            if _ITEM.match(line):
                items += 1
            elif line.strip() and not line.startswith("  "):
                break
            at += len(line)
            end = at if line.strip() else end
        if items >= 2:
            return lead.start(), lead.end(), end
    return None


def _plain_sentences(body: str) -> list[tuple[int, int]]:
    return [
        span
        for line in re.finditer(r"^[A-Z][^\n]+(?:\n[a-z][^\n]+)*", body, re.M)
        for span in (
            (line.start() + start, line.start() + end) for start, end in sentence_spans(line[0])
        )
    ]


def _sentences(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the sentences that the characters touch."""
    touched = [span for span in sentence_spans(text) if span[0] < end and start < span[1]]
    return (touched[0][0], touched[-1][1]) if touched else (start, end)


class Shards:
    """Collects examples as token ids: each with its question, head and text, and where in the text the answer is."""

    def __init__(self, cutter: WindowCutter, chance: random.Random) -> None:
        self._cutter = cutter
        self._chance = chance
        self.ids: list[int] = []
        self.rows: list[tuple[int, int, int, int, int, int, int, int]] = []
        self.sources: dict[str, int] = {}

    def add(self, example: Example) -> None:
        text = example.text
        ids, spans = self._cutter.text(text.text)
        if len(ids) < 12:
            return
        size = min(self._chance.choice(WINDOWS), len(ids))
        if text.answer[0] == NONE:
            first = self._chance.randrange(len(ids) - size + 1)
            answer = exact = (NONE, NONE)
        else:
            answer, exact = _tokens(spans, text.answer), _tokens(spans, text.exact)
            least = max(0, exact[0] - size + min(size // 2, exact[1] - exact[0] + 1))
            first = self._chance.randint(least, max(least, min(exact[0], len(ids) - size)))
            answer, exact = _moved(answer, first, size, OPEN), _moved(exact, first, size, OPEN)
            if exact[0] < 0:
                return
            answer = max(answer[0], 0), answer[1] if answer[1] != OPEN else size - 1
        question, head = self._cutter.question(example.question), self._cutter.head(text.head)
        source = self.sources.setdefault(example.source, len(self.sources))
        self.rows.append((len(question), len(head), size, *exact, *answer, source))
        self.ids += [*question, *head, *ids[first : first + size]]

    def save(self, path: Path) -> None:
        order = np.random.default_rng(7).permutation(len(self.rows))
        rows = np.array(self.rows, np.int32)
        np.savez_compressed(
            path,
            ids=np.array(self.ids, np.uint16),
            rows=rows,
            order=order,
            sources=np.array(list(self.sources)),
        )


def _tokens(spans: np.ndarray, part: tuple[int, int]) -> tuple[int, int]:
    """Return the first and the last token of a part of the text."""
    first = int(np.searchsorted(spans[:, 1], part[0], side="right"))
    last = int(np.searchsorted(spans[:, 0], part[1], side="left")) - 1
    return min(first, len(spans) - 1), max(last, first)


def _moved(part: tuple[int, int], first: int, size: int, beyond: int) -> tuple[int, int]:
    start, end = part[0] - first, part[1] - first
    return start, end if end < size else beyond


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("raw", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--medquad", type=int, default=8000)
    parser.add_argument("--pages", type=int, default=400, help="of each documentation folder")
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    maker = Maker(given.seed)
    shards = Shards(load_window_cutter(), maker.chance)

    def take(examples: Iterator[Example]) -> None:
        for example in examples:
            shards.add(example)
        print(Counter(list(shards.sources)[row[-1]] for row in shards.rows), flush=True)

    raw: Path = given.raw
    if "squad" in given.only or not given.only:
        pages = list(sources.squad_pages(raw / "squad_html"))
        take(
            maker.from_paragraphs([*pages, *sources.squad(raw / "squad_train_part.json")], "squad")
        )
        take(maker.from_paragraphs(list(sources.qed(raw / "qed_dev.jsonl")), "qed"))
    if "articles" in given.only or not given.only:
        articles = list(sources.squad(raw / "squad_train_1.1.json"))
        take(maker.from_articles(articles, QUESTIONS_OF_A_PARAGRAPH))
    if not given.only or "docs" in given.only:
        take(maker.from_medquad(list(sources.medquad(raw / "medquad")), given.medquad))
        for folder in sorted((raw / "docs").iterdir()):
            pages = list(sources.pages(folder))
            chosen = maker.chance.sample(pages, min(len(pages), given.pages))
            take(maker.from_sections(chosen))
    shards.save(given.out)


if __name__ == "__main__":
    main()
