"""Fits how pieces are chosen and how likely what was chosen answers, and says how well, each collection by weights that were fitted on the others.

python benchmarks/fit_relevance.py            # report
python benchmarks/fit_relevance.py --write    # fit on all, write answer/relevance.toml, report

Fitted on the development questions of the handbooks and of our own on packaged documentation: as they are, and without the documents
that answer them. Right is what holds the whole expected answer (`evaluation/correctness.py`). The test questions and the example world have no part
in it. Run it again after a change to how pieces are cut. The first run reads the documents, the next ones take a few minutes;
a large collection that was not read yet can be left out: `--without sourcegraph`.
"""

import asyncio
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from fit_retrieval import least, parse_fit_options
from retrieval_sets import EMBEDDER, HANDBOOKS, PACKAGED, open_collection

import lightwell.answer.relevance as learned
from lightwell.answer.extractive import PartCandidates, choose_pieces, list_pieces
from lightwell.answer.piece_comparison import arrange, encoded_spans, measure_choice
from lightwell.answer.relevance import CHOICE, FILE, PIECE, Floats, RelevanceWeights, piece_measures
from lightwell.connectors.files import Files
from lightwell.domain.access import Reader
from lightwell.domain.evidence import Evidence, Retrieval
from lightwell.domain.questions import Question
from lightwell.domain.reranking import TextMatch
from lightwell.evaluation.collection import TAGS, CollectionQuestion, PublicDocuments
from lightwell.evaluation.correctness import AnswerGroup, holds_answer
from lightwell.evaluation.measures import auroc
from lightwell.knowledge_base import KnowledgeBase
from lightwell.models.late_interaction import LocalLateInteraction
from lightwell.retrieve import local_reranker
from lightwell.retrieve.local_reranker import RerankQuery
from lightwell.settings import Settings
from lightwell.wiring import open_project, open_resources

WEIGHTS = Path(learned.__file__).with_name(FILE)
CLOSE, MORE = 0.7, 4.0
"""With them two of five answers have a second piece, and a quarter of these pieces complete it."""

SCALE = {"possible": 0.28, "medium": 0.72, "high": 0.84}
"""Chances from which an answer is shown, and of medium and high confidence: read from the report, for collections that were not fitted on."""

COUNTS_WITHOUT = 0.1
"""What a question without the documents that answer it counts: few questions of a user are of that kind."""

DEV, DEEP, SHOWN = "dev", 20, 5
PIECE_RIDGE, CHOICE_RIDGE = 3.0, 0.02
AGAINST = frozenset({"lacking", "missing"})
LATE = LocalLateInteraction()


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A question as it was asked once; `groups` are what a right answer holds, () where the documents do not say it."""

    name: str
    groups: tuple[AnswerGroup, ...]
    is_reduced: bool
    candidates: PartCandidates
    matches: list[TextMatch]

    @property
    def counts(self) -> float:
        return COUNTS_WITHOUT if self.is_reduced else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What was chosen for a case: its measures, and whether it is right."""

    case: Case
    measures: Floats
    pieces: int
    is_right: bool


async def collection_cases(name: str, cache: Path) -> list[Case]:
    """Return the development questions of a collection that ask one thing, as they are and without the documents that answer them."""
    data = cache / name
    collection = open_collection(name, data)
    made: list[Case] = []
    async with open_resources(Settings(data=data), around=lambda _: EMBEDDER) as resources:
        kb = await open_project(resources)
        await kb.ingestion.ingest(PublicDocuments(Files(root=collection.root, default_tags=TAGS)))
        everybody = await kb.reader(TAGS)
        for question in collection.questions:
            if question.split == DEV:
                made += await _question_cases(name, question, kb, everybody)
    return made


async def _question_cases(
    name: str, question: CollectionQuestion, kb: KnowledgeBase, reader: Reader
) -> list[Case]:
    retriever = kb.questions.retriever
    unjudged = replace(retriever, ranking=replace(retriever.ranking, is_local=False))
    whole = Question(text=question.text, limit=DEEP)
    retrieval = await unjudged.retrieve_in_space(whole, reader, None)
    vector = (await EMBEDDER.embed_query(retrieval.analysis.text))[0]
    query = RerankQuery(
        text=retrieval.analysis.text,
        vector=vector,
        weights=retrieval.weights,
        names=retrieval.analysis.proper_name_terms,
        expected=retrieval.analysis.expected,
    )
    made: list[Case] = []
    for gone in (frozenset[str](), question.gold) if question.gold else (frozenset[str](),):
        left = [entry for entry in retrieval.evidence if entry.chunk.url not in gone][:SHOWN]
        read = await local_reranker.rerank_locally(EMBEDDER, query, left, late_interaction=LATE)
        groups = () if gone else question.groups
        case = await _case(name, _with_evidence(retrieval, read), groups, is_reduced=bool(gone))
        made += [case] if case else []
    return made


def _with_evidence(retrieval: Retrieval, evidence: Sequence[Evidence]) -> Retrieval:
    best = max((entry.relevance for entry in evidence), default=0.0)
    return replace(retrieval, evidence=tuple(evidence), best_relevance=best)


async def _case(
    name: str, retrieval: Retrieval, groups: tuple[AnswerGroup, ...], *, is_reduced: bool
) -> Case | None:
    parts = list_pieces(retrieval)
    pieces = parts[0].pieces
    if len(parts) > 1 or not pieces or not all(piece.passage.encoded for piece in pieces):
        return None
    texts = [encoded_spans(piece) for piece in pieces]
    matches = await LATE.compare(retrieval.analysis.text, texts)
    return Case(
        name=name, groups=groups, is_reduced=is_reduced, candidates=parts[0], matches=matches
    )


def fitted(cases: Sequence[Case], begin: RelevanceWeights) -> RelevanceWeights:
    """Return weights that are fitted on these cases: first the order of pieces, then the chance of what is chosen by it."""
    ordered = replace(begin, piece=_fitted_order(cases), close=CLOSE, more=MORE, **SCALE)
    chosen = [outcome(case, ordered) for case in cases]
    base, choice = _fitted_chance(chosen)
    return replace(ordered, base=base, choice=choice)


def _fitted_order(cases: Sequence[Case]) -> Floats:
    """Return the weights under which right pieces are likeliest among the pieces of their question."""
    tables: list[tuple[Floats, Floats]] = []
    for case in cases:
        pieces = case.candidates.pieces
        is_right = np.array([holds_answer(case.groups, piece.piece.text) for piece in pieces])
        if is_right.any() and not is_right.all():
            pairs = zip(pieces, case.matches, strict=True)
            tables.append((np.array([piece_measures(*pair) for pair in pairs]), is_right * 1.0))
    size = np.concatenate([table for table, _ in tables]).std(axis=0) + 1e-9

    def loss(weights: Floats) -> tuple[float, Floats]:
        total, slope = PIECE_RIDGE / 2 * float(weights @ weights), PIECE_RIDGE * weights
        for table, is_right in tables:
            scores = table / size @ weights
            likely = np.exp(scores - scores.max())
            right = likely * is_right
            total -= float(np.log(right.sum() / likely.sum()))
            expected = likely / likely.sum() - right / right.sum()
            slope = slope + expected @ (table / size)
        return total, slope

    return least(loss, np.zeros(len(PIECE)), [(0.0, None)] * len(PIECE)) / size


def _fitted_chance(chosen: Sequence[Outcome]) -> tuple[float, Floats]:
    table = np.array([choice.measures for choice in chosen])
    right = np.array([choice.is_right for choice in chosen], float)
    share = np.array([choice.case.counts for choice in chosen])
    share /= share.sum()
    size = table.std(axis=0) + 1e-9
    rows = np.column_stack([np.ones(len(table)), table / size])

    def loss(weights: Floats) -> tuple[float, Floats]:
        chance = 1 / (1 + np.exp(-rows @ weights))
        said = right * np.log(chance + 1e-12) + (1 - right) * np.log(1 - chance + 1e-12)
        ridge = CHOICE_RIDGE * np.array([0.0, *weights[1:]])
        slope = rows.T @ (share * (chance - right)) + ridge
        return -float(share @ said) + float(ridge @ weights) / 2, slope

    bounds = [(None, 0.0) if name in AGAINST else (0.0, None) for name in CHOICE]
    weights = least(loss, np.zeros(len(CHOICE) + 1), [(None, None), *bounds])
    return float(weights[0]), weights[1:] / size


def outcome(case: Case, weights: RelevanceWeights) -> Outcome:
    """Return what is chosen by these weights."""
    candidates = arrange(case.candidates, case.matches, weights)
    pieces = choose_pieces(candidates)
    match = candidates.pieces[0].match
    assert match is not None
    return Outcome(
        case=case,
        measures=measure_choice(candidates, match),
        pieces=len(pieces),
        is_right=holds_answer(case.groups, "\n".join(piece.piece.text for piece in pieces)),
    )


def report(cases: Sequence[Case]) -> None:
    """Print how well what is chosen is judged, each collection by weights that were fitted on the others."""
    judged: list[tuple[Outcome, float]] = []
    for name in dict.fromkeys(case.name for case in cases):
        weights = fitted([case for case in cases if case.name != name], learned.load_weights())
        outcomes = [outcome(case, weights) for case in cases if case.name == name]
        judged += [(chosen, weights.chance(chosen.measures)) for chosen in outcomes]
    asked = [pair for pair in judged if not pair[0].case.is_reduced]
    right = [chance for chosen, chance in asked if chosen.is_right]
    wrong = [chance for chosen, chance in asked if chosen.case.groups and not chosen.is_right]
    nowhere = [chance for chosen, chance in asked if not chosen.case.groups]
    reduced = [chance for chosen, chance in judged if chosen.case.is_reduced]
    several = np.mean([chosen.pieces > 1 for chosen, _ in asked])
    print(f"right {len(right) / (len(right) + len(wrong)):.1%}; two pieces {several:.0%}")
    for name, others in (("wrong", wrong), ("unanswerable", nowhere), ("reduced", reduced)):
        print(f"AUROC of right against {name} {auroc(right, others):.3f}")
    print("chance     right  wrong  unanswerable  reduced")
    for low in np.arange(0.0, 1.0, 0.1).tolist():
        counts = [
            sum(low <= chance < low + 0.1 for chance in some)
            for some in (right, wrong, nowhere, reduced)
        ]
        print(f"{low:.1f}–{low + 0.1:.1f}   {counts[0]:6}{counts[1]:7}{counts[2]:14}{counts[3]:9}")
    answerable = len(right) + len(wrong)
    for word, least_chance in SCALE.items():
        kept, lost = (sum(chance >= least_chance for chance in some) for some in (right, wrong))
        shown = sum(chance >= least_chance for chance in nowhere)
        print(
            f"{word:9} from {least_chance:.2f}: right {kept / answerable:.1%} of the answerable and"
            f" {kept / max(kept + lost, 1):.1%} of those shown; of {len(nowhere)} unanswerable {shown} shown"
        )


def page(weights: RelevanceWeights) -> str:
    """Return the weights as the file that is shipped."""
    first = WEIGHTS.read_text("utf-8").splitlines()[0]
    sections = {
        "piece": dict(zip(PIECE, weights.piece, strict=True)),
        "second": {"close": weights.close, "more": weights.more},
        "choice": {"base": weights.base, **dict(zip(CHOICE, weights.choice, strict=True))},
        "scale": SCALE,
    }
    lines = [
        f"\n[{name}]\n" + "\n".join(f"{key} = {value:.3f}" for key, value in section.items())
        for name, section in sections.items()
    ]
    written = "\n".join([first, *lines]) + "\n"
    assert tomllib.loads(written)
    return written


async def all_cases(names: Sequence[str], cache: Path) -> list[Case]:
    return [case for name in names for case in await collection_cases(name, cache)]


def main() -> None:
    options = parse_fit_options(__doc__, may_leave_out=True)
    names = [name for name in (*HANDBOOKS, *PACKAGED) if name not in options.without]
    cases = asyncio.run(all_cases(names, options.cache))
    if options.write:
        WEIGHTS.write_text(page(fitted(cases, learned.load_weights())), encoding="utf-8")
        learned.load_weights.cache_clear()
    report(cases)


if __name__ == "__main__":
    main()
