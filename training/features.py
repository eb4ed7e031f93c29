"""What a passage can be judged by without reading it: counts, likenesses and kinds, and models fitted on them.

    python -m training.features DEV_AND_TEST.jsonl.gz... [--model local-reader-int8.onnx]

Fits logistic regression and boosted trees on the dev questions of all files, to say whether a passage holds the answer,
and prints the area under the curve on test. With a reader, its outputs are features too.
"""

import argparse
import math
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lightwell.text.terms import terms
from training.evaluate import Case, Reader, auroc, cases

_KINDS = (
    (
        re.compile(
            r"\bhow (?:many|much|long|often|old|far|big)\b|\bwhat (?:percent|number|amount)", re.I
        ),
        re.compile(r"\d|\b(?:one|two|three|four|five|six|ten|twelve)\b"),
    ),
    (
        re.compile(r"\bwhen\b|\bwhat (?:time|day|date)", re.I),
        re.compile(r"\d|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day|week|month|year|daily", re.I),
    ),
    (
        re.compile(r"\bwho\b|\bwhose\b|\bcontact\b", re.I),
        re.compile(r"[a-z ][A-Z]\w+ [A-Z]\w+|@|team|lead|manager", re.M),
    ),
    (
        re.compile(r"\bwhere\b|\blink\b|\bchannel\b", re.I),
        re.compile(r"https?:|\]\(|#\w|folder|slack", re.I),
    ),
    (
        re.compile(r"\bhow (?:do|to|can|does|should)\b|\bsteps?\b", re.I),
        re.compile(r"^\s*(?:\d+\.|[-*])\s", re.M),
    ),
)


def of(case: Case, place: int) -> list[float]:
    each = case.passages[place]
    asked = set(terms(case.question["question"]))
    title = set(terms(f"{each['title']} {' '.join(each['section'])}"))
    text = set(terms(each["text"]))
    best = max(each["highlights"], key=lambda one: one[2] + one[3], default=(0, 0, 0.0, 0.0))
    near = each["text"][max(0, best[0] - 150) : best[1] + 250]
    own = min(max(each["relevance"], 1e-4), 1 - 1e-4)
    fits = [
        bool(shape.search(near)) for asks, shape in _KINDS if asks.search(case.question["question"])
    ]
    covers = sorted((one[2] for one in each["highlights"]), reverse=True) + [0.0] * 3
    likes = sorted((one[3] for one in each["highlights"]), reverse=True) + [0.0] * 3
    found = [
        math.log(own / (1 - own)),
        each["score"],
        1 - (each["cos"] if each["cos"] is not None else 0.5),
        1 / (1 + place),
        covers[0],
        covers[1],
        likes[0],
        likes[1],
        best[2] * best[3],
        len(asked & title) / max(len(asked), 1),
        len(asked & text) / max(len(asked), 1),
        len(asked),
        sum(fits) / len(fits) if fits else 0.5,
        math.log(len(each["text"])),
    ]
    if case.reads:
        read = case.reads[place]
        raised = min(max(read.answerable, 1e-4), 1 - 1e-4)
        spots = [*sorted(read.start.tolist(), reverse=True), 0.0]
        found += [math.log(raised / (1 - raised)), spots[0], float(read.inside.max(initial=0))]
    return found


def fitted(found: Sequence[Case], model: object) -> object:
    rows = [of(case, place) for case in found for place in range(len(case.passages))]
    held = [case.holds(each["text"]) for case in found for each in case.passages]
    return model.fit(np.array(rows), np.array(held))


def score(found: Sequence[Case], model: object) -> tuple[float, float]:
    """Return the area under the curve for questions (by their best passage) and for passages."""
    scores = [
        model.predict_proba(np.array([of(case, place) for place in range(len(case.passages))]))[
            :, 1
        ]
        for case in found
    ]
    by_question = auroc([each.max() for each in scores], [case.answerable for case in found])
    held = [case.holds(each["text"]) for case in found for each in case.passages]
    return by_question, auroc(np.concatenate(scores), held)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("passages", type=Path, nargs="+")
    parser.add_argument("--model", type=Path)
    given = parser.parse_args()
    reader = Reader(given.model) if given.model else None
    sets = {path.stem: cases(path, reader, 5, "five")[0] for path in given.passages}
    tuned = [case for some in sets.values() for case in some if case.question["split"] == "dev"]
    models = {
        "logistic regression": make_pipeline(
            StandardScaler(), LogisticRegression(C=0.3, max_iter=2000)
        ),
        "boosted trees": HistGradientBoostingClassifier(
            max_depth=3, max_iter=80, learning_rate=0.06, min_samples_leaf=15, random_state=0
        ),
    }
    for name, model in models.items():
        made = fitted(tuned, model)
        for title, some in sets.items():
            tested = [case for case in some if case.question["split"] == "test"]
            print(
                f"{name}, {title}, test: AUROC question {score(tested, made)[0]:.3f}, passage {score(tested, made)[1]:.3f}"
            )


if __name__ == "__main__":
    main()
