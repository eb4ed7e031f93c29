"""Fits the codes in which tokens' vectors are kept (`models/token_codes.py`), and writes them.

python benchmarks/fit_token_codes.py                 # say how well the bundled codes keep what floats say
python benchmarks/fit_token_codes.py --write FILE    # fit, write the file, say the same of it
python benchmarks/fit_token_codes.py --forms         # the same for other sizes, and for signs

Fitted on samples of the passages of the five collections and the three sets, and on their development questions. Two
projections, one for the tokens of passages and one for those of questions, are fitted together: of all of their rank, theirs changes the
products of tokens least (the singular vectors of the product of both whitening matrices). So each dimension of a passage's token has the
weight that questions give it, and k-means over four dimensions at a time makes the code words. A ridge regression makes, of the mean of a
unit's tokens, the vector that the network gives the unit when it reads it alone.
"""

import argparse
import hashlib
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from retrieval_sets import HANDBOOKS, PACKAGED, sample_texts

from lightwell.domain.reranking import HeadedPassage
from lightwell.models import token_codes
from lightwell.models.bge import encode, encode_question
from lightwell.models.late_interaction import read_passage, weigh_matches
from lightwell.models.local import load_tokenizer
from lightwell.models.text_windows import blank_markup
from lightwell.models.token_codes import WORDS, TokenCodes
from lightwell.text.analysis.passage import PassageAnalysis
from lightwell.text.analysis.stored import StoredAnalysis

Floats = NDArray[np.float32]

SETS = ("hotpotqa_train100", "musique_train100", "lihua_world")
PASSAGES, UNITS = 200, 500
"""Passages and units that are sampled of each source."""
DIMENSIONS, TOGETHER = 160, 4
"""Numbers that are kept of a token, and how many of them one code word stands for."""
STEPS, RIDGE, SMOOTHING = 15, 0.01, 0.05
SHORTEST = 2
SIZES = (16, 24, 32, 40, 48)
BITS = 384
ASKED, MATCHED = 20, 14_000
"""Questions of each source that are asked in a report, and tokens that are timed: those of thirty chunks."""
PARTS = ("mean", "passages", "questions", "words", "whole")


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What the network made of a source: tokens of passages, and of its questions; units' tokens with their vectors when they are read alone."""

    tokens: list[Floats]
    questions: list[Floats]
    units: list[Floats]
    wholes: Floats


def read(name: str, cache: Path, random: np.random.Generator) -> Read:
    """Return what the network makes of a sample of a source."""
    passages, questions = sample_texts(name, cache, PASSAGES, random)
    tokens: list[Floats] = []
    units: list[Floats] = []
    wholes: list[Floats] = []
    for passage in passages:
        vectors = read_passage(passage)
        tokens.append(vectors.tokens)
        for start, end, text in _units(passage, random, UNITS // PASSAGES + 1):
            first, last = np.searchsorted(vectors.places, (start, end))
            if first < last:
                units.append(vectors.tokens[first:last])
                wholes.append(_alone(text))
    return Read(
        tokens=tokens,
        questions=[encode_question(text).tokens for text in questions],
        units=units,
        wholes=np.array(wholes),
    )


def _units(
    passage: HeadedPassage, random: np.random.Generator, most: int
) -> list[tuple[int, int, str]]:
    """Return some units of a passage: their places, and their text below its context."""
    stored = StoredAnalysis(text=passage.text)
    analysis = PassageAnalysis(text=passage.text, chunks=((0, stored),))
    long = [n for n, unit in enumerate(analysis.units) if len(unit.terms) >= SHORTEST]
    chosen: list[int] = random.permutation(long)[:most].tolist()
    return [
        (
            analysis.units[place].start,
            analysis.units[place].end,
            f"{analysis.context(place)}: {analysis.parts[place]}",
        )
        for place in chosen
    ]


def _alone(text: str) -> Floats:
    plain = " ".join(blank_markup(text).split())
    pieces = load_tokenizer().encode(plain, add_special_tokens=False).ids
    return encode(pieces[:224]).whole


def fit(
    sources: Sequence[Read], random: np.random.Generator, dimensions: int = DIMENSIONS
) -> TokenCodes:
    """Return the codes that keep the products of these tokens best; each source counts alike."""
    tokens = np.concatenate([_some(each.tokens, 8_000, random) for each in sources])
    questions = np.concatenate([_some(each.questions, 600, random) for each in sources])
    mean = tokens.mean(axis=0)
    of_passages, of_questions = _projections(tokens - mean, questions, dimensions)
    projected = (tokens - mean) @ of_passages
    words = np.array(
        [
            _code_words(projected[:, start : start + TOGETHER], random)
            for start in range(0, dimensions, TOGETHER)
        ]
    )
    bare = TokenCodes(
        mean=mean,
        passages=of_passages,
        questions=of_questions,
        words=words,
        whole=np.zeros((dimensions + 1, tokens.shape[1]), np.float32),
    )
    units = [unit for each in sources for unit in each.units]
    means = np.array([bare.decode(bare.encode(unit)).mean(axis=0) for unit in units])
    whole = _ridge(means, np.concatenate([each.wholes for each in sources]))
    return TokenCodes(
        mean=mean, passages=of_passages, questions=of_questions, words=words, whole=whole
    )


def _some(parts: Sequence[Floats], most: int, random: np.random.Generator) -> Floats:
    whole = np.concatenate(parts)
    return whole[random.choice(len(whole), min(most, len(whole)), replace=False)]


def _projections(tokens: Floats, questions: Floats, dimensions: int) -> tuple[Floats, Floats]:
    """Return the two matrices, (384, dimensions), for centred tokens of passages and for those of questions.

    The dimensions of passages are in groups of `TOGETHER` that vary about as much.
    """
    width = tokens.shape[1]
    asked = questions.T @ questions / len(questions)
    asked = (1 - SMOOTHING) * asked + SMOOTHING * np.eye(width) * np.trace(asked) / width
    told = np.cov(tokens.T)
    left, sizes, right = np.linalg.svd(_power(asked, 0.5) @ _power(told, 0.5))
    groups = dimensions // TOGETHER
    order = np.arange(dimensions).reshape(TOGETHER, groups)
    order[1::2] = order[1::2, ::-1]
    kept = order.T.ravel()
    of_passages = _power(told, -0.5) @ right[kept].T * sizes[kept]
    of_questions = _power(asked, -0.5) @ left[:, kept]
    return of_passages.astype(np.float32), of_questions.astype(np.float32)


def _power(matrix: NDArray[np.floating], exponent: float) -> NDArray[np.float64]:
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.maximum(values, values.max() * 1e-6) ** exponent) @ vectors.T


def _code_words(vectors: Floats, random: np.random.Generator) -> Floats:
    """Return the `WORDS` means of k-means."""
    words = vectors[random.choice(len(vectors), WORDS, replace=False)]
    for _ in range(STEPS):
        nearest = _nearest(vectors, words)
        sums = np.zeros_like(words)
        np.add.at(sums, nearest, vectors)
        counts = np.bincount(nearest, minlength=WORDS)[:, np.newaxis]
        words = np.where(counts, sums / np.maximum(counts, 1), words).astype(np.float32)
    return words


def _nearest(vectors: Floats, words: Floats) -> NDArray[np.intp]:
    return np.argmin((words * words).sum(axis=1) / 2 - vectors @ words.T, axis=1)


def _ridge(inputs: Floats, outputs: Floats) -> Floats:
    """Return the weights of the inputs, and of a one behind them, (inputs + 1, outputs)."""
    given = np.column_stack([inputs, np.ones(len(inputs))])
    penalty = RIDGE * len(given) * np.mean(inputs**2) * np.eye(given.shape[1])
    return np.linalg.solve(given.T @ given + penalty, given.T @ outputs).astype(np.float32)


_Likeness = Callable[[Floats, Floats], Floats]
"""Compares the tokens of a unit with those of a question, (tokens, tokens of the question)."""


def report(name: str, sources: Sequence[Read], compare: _Likeness, size: int) -> None:
    """Print how units' matches go with those by floats: their mean correlation over questions, and how often the best unit is the same."""
    alike: list[float] = []
    same: list[bool] = []
    for source in sources:
        for question in source.questions[:ASKED]:
            by_floats, by_codes = (
                weigh_matches(np.array([by(unit, question).max(axis=0) for unit in source.units]))
                for by in (_cosines, compare)
            )
            alike.append(float(np.corrcoef(by_floats, by_codes)[0, 1]))
            same.append(int(by_floats.argmax()) == int(by_codes.argmax()))
    tokens = np.concatenate([unit for source in sources for unit in source.units])[:MATCHED]
    print(
        f"{name:20} {size:4} bytes  matches {np.mean(alike):.3f}  same best {np.mean(same):.2f}"
        f"  {_milliseconds(compare, tokens, sources[0].questions[0]):.1f} ms"
    )


def _cosines(unit: Floats, question: Floats) -> Floats:
    return unit @ question.T


def _signs(unit: Floats, question: Floats) -> Floats:
    return np.sign(unit) @ question.T / np.sqrt(np.float32(unit.shape[1]))


def _by(codes: TokenCodes) -> _Likeness:
    """Return the comparison by codes; those of a unit are made once."""
    packed: dict[int, NDArray[np.uint8]] = {}

    def compare(unit: Floats, question: Floats) -> Floats:
        if id(unit) not in packed:
            packed[id(unit)] = codes.encode(unit)
        return codes.compare(codes.of_question(question), packed[id(unit)])

    return compare


def _milliseconds(compare: _Likeness, tokens: Floats, question: Floats) -> float:
    """Return the processor time of comparing these tokens once they are packed, the median of nine."""
    taken: list[float] = []
    for _ in range(10):
        before = time.process_time()
        compare(tokens, question)
        taken.append(time.process_time() - before)
    return 1000 * float(np.median(taken[1:]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--cache", type=Path, default=Path(tempfile.gettempdir()) / "lightwell-benchmarks"
    )
    parser.add_argument("--write", type=Path)
    parser.add_argument("--forms", action="store_true")
    options = parser.parse_args()
    random = np.random.default_rng(1)
    sources = [read(name, options.cache, random) for name in (*HANDBOOKS, *PACKAGED, *SETS)]
    if options.forms:
        report("signs", sources, _signs, BITS // 8)
        for size in SIZES:
            report("codes", sources, _by(fit(sources, random, size * TOGETHER)), size)
        return
    codes = fit(sources, random) if options.write else token_codes.load_token_codes()
    if options.write:
        arrays = {name: getattr(codes, name).astype(np.float16) for name in PARTS}
        np.savez(options.write, allow_pickle=False, **arrays)
        print(hashlib.sha256(options.write.read_bytes()).hexdigest())
    report("bundled codes", sources, _by(codes), codes.bytes)


if __name__ == "__main__":
    main()
