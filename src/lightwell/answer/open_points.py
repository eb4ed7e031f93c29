"""What is open: by which words a text says so, and answers to "What is open with X?": of each document about X, what it says, or the state of its item."""

import re

from lightwell.answer.item_fields import plain_title
from lightwell.answer.owed import list_commitments
from lightwell.answer.quotes import (
    Quote,
    SupportedSentence,
    make_quote,
    narrow,
    quotes_without_orders,
    render_quote,
)
from lightwell.domain.documents import PLAIN_SYSTEMS, WorkState
from lightwell.domain.evidence import Evidence, Retrieval
from lightwell.domain.questions import Channel
from lightwell.text.dates import MONTH, WEEKDAY
from lightwell.text.regex import regex
from lightwell.text.terms import terms
from lightwell.text.word_lists import any_of, load_word_lists, whole_words

MAX_PASSAGES = 20
"""Passages that are retrieved for such a question."""

PLAIN = 0.75
"""The relevance of open points at least: a document names the thing and says what is open. All seven that the demo shows were right."""
_MAX_POINTS = 8
_PLAINLY_OPEN, _HINTS_AT_OPEN = 2, 1
"""The score of a sentence that counts, in any document and in one whose item is open."""

_LISTS = load_word_lists("lightwell.answer")["open"]
_PLAIN = regex(rf"\[ \]|\bto\s+do:|{whole_words(_LISTS['plain'])}", re.IGNORECASE)
_HINT = regex(whole_words(_LISTS["hint"]), re.IGNORECASE)
_BY = regex(
    rf"\b{any_of(_LISTS['by'])}\s+(?:the\s+)?(?:end\s+of\s+)?(?:\d{{1,2}}(?:st|nd|rd|th|\.)?\s+)?"
    rf"(?:(?:{MONTH})\b|\d{{4}}\b|{WEEKDAY}|q[1-4]\b|{any_of(_LISTS['soon'])}|\d{{1,2}}[./]\d)",
    re.IGNORECASE,
)
_CLOSED = regex(rf"\[x\]|~~|✅|{whole_words(_LISTS['closed'])}", re.IGNORECASE)
_OPEN_HEADING = regex(rf"{whole_words(_LISTS['heading'])}|^(?:open|actions)\W*$", re.IGNORECASE)
CUES = tuple(dict.fromkeys(terms(" ".join(_LISTS["search"]))))
"""The terms by which passages are found that say what is open."""

_HASHES, _FIRST_LETTER = regex(r"#{1,6}\s"), regex(r"\w")
_COLON_LAST = regex(r"\w[^\w:]*(:)\W*$")
_LONGEST_HEADING = 60

_STATE = regex(
    r"^[^\S\n]*+(?:[-*][^\S\n]+)?\**(?:(?:\w+ )?(?:status|state|stage)|zustand|phase|statut|étape)\**:\**[^\S\n]+([^\n]+)"
    r"(?:\n[^\S\n]*+(?:[-*][^\S\n]+)?\**(?:deadline|due(?: date)?|target date)\**:[^\n]+)?",
    re.IGNORECASE | re.MULTILINE,
)
_OVER = regex(
    r"(?<!\bnot )(?<!\bto be )(?<!\bnicht )(?<!\bpas )\b(?:closed|resolved|done|completed?|cancell?ed|duplicate|archived|won|lost|rejected|shipped|released|fixed|active|inactive"
    r"|erledigt|geschlossen|abgeschlossen|terminée?|fermée?)\b",
    re.IGNORECASE,
)
"""States of items with which nothing is left to do, unless negated; `active` is the state of a customer, not of work."""


def open_points(retrieval: Retrieval) -> list[SupportedSentence]:
    """Return what is open with what the question names, best passages first, one sentence for each document.

    A document counts that names it in full, or that a confirmed link leads to from it. An item that is closed has no open points. Where
    systems know what the question names, they have said what is open with it (`open_items`): their other items count only where they name it
    in full, and linked ones of other systems where they name it in part.
    """
    named, wanted = retrieval.analysis.proper_name_terms, frozenset(retrieval.weights)
    points: dict[str, SupportedSentence] = {}
    stated = [commitment.evidence.chunk for commitment in retrieval.owed or ()]
    listed, systems = {chunk.document_ref for chunk in stated}, {chunk.system for chunk in stated}
    for entry in retrieval.evidence:
        document, title = entry.chunk.document_ref, entry.chunk.title
        held_terms = entry.analysis.terms.union(terms(title))
        is_named = named and named <= held_terms
        is_linked = Channel.LINKS in entry.ranks and (
            retrieval.owed is None
            or entry.chunk.system in PLAIN_SYSTEMS
            or (entry.chunk.system not in systems and not named.isdisjoint(held_terms))
        )
        if document in points or document in listed or not (is_named or is_linked):
            continue
        if quote := _find_open_point(entry):
            quote = narrow(quote, wanted)
            about = plain_title(entry.chunk)
            point = " ".join(render_quote(quote).split())
            text = f"{about}: {point}" if about else point
            points[document] = SupportedSentence(text=text, quotes=(quote,))
    return list(points.values())[:_MAX_POINTS]


def says_it_is_open(text: str) -> bool:
    """Return whether a text states how something stands, and no such state says that it is over."""
    states = [*_STATE.finditer(text)]
    return bool(states) and not any(_OVER.search(state[1]) for state in states)


def _find_open_point(entry: Evidence) -> Quote | None:
    """Return what the item owes, else the sentence that says most plainly what is open, else the state of an item that is open, else None.

    Whether an item is closed its system says; where it says nothing, the words of its state do.
    """
    states = [*_STATE.finditer(entry.chunk.text)]
    said_state = entry.chunk.work_state
    if said_state is WorkState.CLOSED:
        return None
    if owed := next(list_commitments(entry.chunk), None):
        return make_quote(entry, owed.start, owed.end)
    if said_state is None and any(_OVER.search(state[1]) for state in states):
        return None
    least = _HINTS_AT_OPEN if states or said_state else _PLAINLY_OPEN
    sentences = (
        quote
        for quote in quotes_without_orders(entry)
        if not any(quote.start < state.end() and state.start() < quote.end for state in states)
    )
    scored = ((open_issue_score(quote.text, quote.context), quote) for quote in sentences)
    score, best = max(scored, key=lambda pair: pair[0], default=(0, None))
    if score >= least:
        return best
    if not states:
        return None
    state = states[0]
    return make_quote(entry, state.start(), state.end())


def open_issue_score(text: str, context: str) -> int:
    """Return how surely the text says that something is open: 0 not at all, from 2 plainly.

    `context` is what it stands under; a heading such as "Open points" makes its items open.
    """
    if looks_like_heading(text) or _CLOSED.search(text):
        return 0
    score = 2 * bool(_PLAIN.search(text)) + bool(_HINT.search(text)) + bool(_BY.search(text))
    return score + 2 * bool(_OPEN_HEADING.search(context))


def looks_like_heading(text: str) -> bool:
    """Return whether a text looks like a heading: marked as one, or a few words before a colon; its document is not asked."""
    if _HASHES.match(text):
        return True
    first, last = _FIRST_LETTER.search(text), _COLON_LAST.search(text)
    if first is None or last is None:
        return False
    label = text[first.start() : last.start(1)]
    return len(label) <= _LONGEST_HEADING and not any(sign in label for sign in "\n.!?")
