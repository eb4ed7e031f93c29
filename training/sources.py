"""Public question-answering sets and documentation, read from a folder that the user names (see DATA.md)."""

import html
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import yaml


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question about a paragraph; `start` and `end` are the answer's characters, -1 where there is none."""

    question: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Paragraph:
    """A text with the questions asked about it; `head` is its title and section, `group` its document."""

    head: str
    group: str
    text: str
    asked: tuple[Asked, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """What stands under one heading of a documentation page; `path` are the headings above and its own."""

    document: str
    path: tuple[str, ...]
    body: str
    asked: tuple[str, ...] = field(default=())


def beside(paragraphs: Sequence[Paragraph], at: int) -> tuple[str, str]:
    """Return the paragraphs above and below this one in the same article, with the empty lines between."""
    group = paragraphs[at].group
    above = paragraphs[at - 1] if at and paragraphs[at - 1].group == group else None
    following = paragraphs[at + 1 : at + 2]
    below = following[0] if following and following[0].group == group else None
    return f"{above.text}\n\n" if above else "", f"\n\n{below.text}" if below else ""


def squad(path: Path) -> Iterator[Paragraph]:
    """Read a file in SQuAD's format, version 1 or 2."""
    for article in json.loads(path.read_text())["data"]:
        title = str(article.get("title", "")).replace("_", " ")
        for paragraph in article["paragraphs"]:
            text = paragraph["context"]
            asked = [_squad_asked(each) for each in paragraph["qas"]]
            yield Paragraph(head=title, group=title or text[:80], text=text, asked=tuple(asked))


def _squad_asked(qa: dict) -> Asked:
    if qa.get("is_impossible") or not qa["answers"]:
        return Asked(question=qa["question"], start=-1, end=-1)
    answer = qa["answers"][0]
    start = answer["answer_start"]
    return Asked(question=qa["question"], start=start, end=start + len(answer["text"]))


_BLOCK = re.compile(r"<pre>(.*?)</pre>(.*?)(?=<pre>|\Z)", re.S)
_QA = re.compile(
    r'<strong class="question">(.*?)</strong>(.*?)(?=<strong class="question">|\Z)', re.S
)
_ANSWER = re.compile(r'<span class="answer">(.*?)</span>', re.S)


def squad_pages(folder: Path) -> Iterator[Paragraph]:
    """Read SQuAD 2.0's development set from the pages of its explorer, one article a page."""
    for page in sorted(folder.rglob("*.html")):
        title = page.stem.replace("_", " ")
        content = page.read_text()
        for block in _BLOCK.finditer(content):
            text = html.unescape(re.sub(r"<[^>]+>", "", block[1]))
            asked: list[Asked] = []
            for qa in _QA.finditer(block[2]):
                question = html.unescape(qa[1]).strip()
                answers = [html.unescape(each) for each in _ANSWER.findall(qa[2])]
                answers = [each for each in answers if each in text]
                if answers:
                    # The pages hold no offsets: an answer that occurs twice is left out.
                    common = max(answers, key=answers.count)
                    if text.count(common) == 1:
                        start = text.index(common)
                        asked.append(Asked(question=question, start=start, end=start + len(common)))
                elif "No Answer" in qa[2]:
                    asked.append(Asked(question=question, start=-1, end=-1))
            yield Paragraph(head=title, group=title, text=text, asked=tuple(asked))


def qed(path: Path) -> Iterator[Paragraph]:
    """Read QED: questions that people put to a search engine, with paragraphs of Wikipedia."""
    for line in path.read_text().splitlines():
        row = json.loads(line)
        spans = row["original_nq_answers"][0]
        if len(spans) != 1:
            continue
        asked = Asked(question=row["question_text"], start=spans[0]["start"], end=spans[0]["end"])
        yield Paragraph(
            head=row["title_text"],
            group=row["title_text"],
            text=row["paragraph_text"],
            asked=(asked,),
        )


def medquad(folder: Path) -> Iterator[list[tuple[str, str, str]]]:
    """Yield each document of MedQuAD as (topic, question, answer) triples, without those it has no answer for."""
    for path in sorted(folder.rglob("*.xml")):
        root = ET.fromstring(path.read_text())  # noqa: S314 - the user's own download
        focus = (root.findtext("Focus") or "").strip()
        found = [
            (focus, " ".join(question.split()), re.sub(r"\s*\n\s*", "\n", answer).strip())
            for pair in root.iter("QAPair")
            if (question := pair.findtext("Question")) and (answer := pair.findtext("Answer"))
        ]
        if found:
            yield found


_FRONT = re.compile(r"\A---\n(.*?)\n---\n", re.S)
_TITLE = re.compile(r"^title:\s*['\"]?(.+?)['\"]?\s*$", re.M)
_HEADING = re.compile(r"^(#{1,6})[ \t]+(.+?)[ \t#]*$")
_FENCE = re.compile(r"^\s*(```|~~~)")


def pages(folder: Path) -> Iterator[list[Section]]:
    """Yield each markdown page below a folder as its sections, in order; front matter gives the title."""
    for path in sorted(folder.rglob("*.md")):
        text = path.read_text(errors="replace")
        front = _FRONT.match(text)
        titled = _TITLE.search(front[1]) if front else None
        found = _sections(
            str(path), titled[1] if titled else "", text[front.end() :] if front else text
        )
        if found:
            yield found
    for path in sorted(folder.rglob("*faq*.y*ml")):
        found = _faq(path)
        if found:
            yield found


def _sections(document: str, title: str, text: str) -> list[Section]:
    path: list[str] = [title] if title else []
    depth: list[int] = [0] if title else []
    body: list[str] = []
    found: list[Section] = []
    fenced = False

    def close() -> None:
        content = _clean("\n".join(body))
        if path and len(content) > 60:
            found.append(Section(document=document, path=tuple(path), body=content))
        body.clear()

    for line in text.splitlines():
        if _FENCE.match(line):
            fenced = not fenced
        heading = None if fenced else _HEADING.match(line)
        if heading is None:
            body.append(line)
            continue
        close()
        level = len(heading[1])
        while depth and depth[-1] >= level:
            depth.pop()
            path.pop()
        depth.append(level)
        path.append(_plain(heading[2]))
    close()
    return found


def _faq(path: Path) -> list[Section]:
    """Read the FAQ files of Microsoft's documentation: sections of questions with answers."""
    try:
        page = yaml.safe_load(path.read_text(errors="replace"))
    except yaml.YAMLError:
        return []
    if not isinstance(page, dict) or "sections" not in page:
        return []
    title = str(page.get("title", ""))
    return [
        Section(
            document=str(path),
            path=(title, _plain(str(each.get("question", "")))),
            body=_clean(str(each.get("answer", ""))),
        )
        for section in page["sections"] or []
        for each in (section or {}).get("questions") or []
        if each and len(str(each.get("answer", ""))) > 40
    ]


def _plain(heading: str) -> str:
    heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    heading = re.sub(r"\{[#:.][^}]*\}|<[^>]+>|[*_`]", "", heading)
    return heading.strip()


def _clean(text: str) -> str:
    text = re.sub(
        r"<!--.*?-->|\{\{[^\n]*?\}\}|!\[[^\]\n]*\]\([^)\n]*\)|^:::[^\n]*$|^\[![^\n]*$|^[ \t]*>[ \t]*\[![A-Z]+\]",
        "",
        text,
        flags=re.S | re.M,
    )
    return re.sub(r"\n{3,}", "\n\n", text).strip()
