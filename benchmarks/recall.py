"""What the real store, the real local model and the real pipeline find, on the evaluation sets.

`python -m benchmarks recall [--sets hotpotqa_train100,musique_train100,lihua_world]` is `lightwell eval` on each set, with its
stores in LIGHTWELL_DATA. Says so and does nothing where `../shared/eval` is absent. Some minutes per set: embedding is most of it.
"""

import argparse
import asyncio
from pathlib import Path

from rich.console import Console

from lightwell.domain.questions import Mode
from lightwell.entrypoints.cli.evaluating import Plan, evaluate

EVALUATION = Path(__file__).parents[2] / "shared" / "eval"
SETS = ("hotpotqa_train100", "musique_train100", "lihua_world")


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks recall", description=__doc__)
    parser.add_argument("--sets", default=",".join(SETS))
    if not EVALUATION.is_dir():
        print(f"skipped: the evaluation sets are not at {EVALUATION.name}")
        return
    for name in parser.parse_args(arguments).sets.split(","):
        plan = Plan(folder=EVALUATION / name, mode=Mode.MIX)
        Console(width=140).print(asyncio.run(evaluate(plan)).text)
