"""Trains the reader on prepared examples, within a time limit, and goes on where it was stopped.

python -m training.train MODEL.safetensors EXAMPLES.npz... --out FOLDER --minutes 60
"""

import argparse
import json
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from training.network import BEGIN, END, Batch, Reader, from_minilm, loss

POOL = 2048
"""Examples that are sorted by length together, so that a batch holds little padding."""


class Examples:
    """Prepared examples of several files, in one shuffled order per epoch.

    `shares` says of which sources only a part is used, 0 to 1.
    """

    def __init__(self, paths: list[Path], device: str, shares: dict[str, float]) -> None:
        self.device = device
        self.ids, self.rows, self.starts, sources = [], [], [], []
        self.place: list[tuple[int, int]] = []
        for number, path in enumerate(paths):
            with np.load(path) as given:
                rows = given["rows"]
                self.ids.append(given["ids"])
                self.rows.append(rows)
                self.starts.append(np.concatenate([[0], np.cumsum(rows[:, :3].sum(axis=1))]))
                sources.append(given["sources"])
                part = np.array([shares.get(str(name), 1.0) for name in given["sources"]])
                drawn = np.random.default_rng(number).random(len(rows))
                used = np.flatnonzero(drawn < part[rows[:, 7]])
                self.place += [(number, int(row)) for row in used]
        self.sources = sources

    def __len__(self) -> int:
        return len(self.place)

    def order(self, epoch: int) -> np.ndarray:
        return np.random.default_rng(1000 + epoch).permutation(len(self.place))

    def length(self, place: int) -> int:
        number, row = self.place[place]
        return int(self.rows[number][row, :3].sum()) + 4

    def batch(self, places: list[int]) -> Batch:
        longest = max(self.length(place) for place in places)
        shape = (len(places), longest)
        ids, types, mask = (
            np.zeros(shape, np.int64),
            np.zeros(shape, np.int64),
            np.zeros(shape, np.float32),
        )
        inside = np.full(shape, -1, np.float32)
        start, end = np.zeros(len(places), np.int64), np.zeros(len(places), np.int64)
        for at, place in enumerate(places):
            number, row = self.place[place]
            question, head, text, first, last, opens, closes, _ = (
                int(each) for each in self.rows[number][row]
            )
            begun = int(self.starts[number][row])
            given = self.ids[number][begun : begun + question + head + text].astype(np.int64)
            line = [
                BEGIN,
                *given[:question],
                END,
                *given[question : question + head],
                END,
                *given[question + head :],
                END,
            ]
            ids[at, : len(line)] = line
            types[at, question + 2 : len(line)] = 1
            mask[at, : len(line)] = 1
            base = question + head + 3
            inside[at, base : base + text] = 0
            if first >= 0:
                start[at] = base + first
                end[at] = base + last if last >= 0 else -100
                inside[at, base + opens : base + closes + 1] = 1
        holds = torch.from_numpy((start > 0).astype(np.float32))
        made = (torch.from_numpy(each) for each in (ids, types, mask, start, end, inside))
        given = [each.to(self.device) for each in made]
        return Batch(
            ids=given[0],
            types=given[1],
            mask=given[2],
            start=given[3],
            end=given[4],
            inside=given[5],
            answerable=holds.to(self.device),
        )

    def batches(self, epoch: int, tokens: int) -> Iterator[list[int]]:
        order = self.order(epoch)
        chance = np.random.default_rng(epoch)
        for first in range(0, len(order), POOL):
            pool = sorted(order[first : first + POOL].tolist(), key=self.length)
            cut: list[list[int]] = [[]]
            for place in pool:
                if cut[-1] and (len(cut[-1]) + 1) * self.length(place) > tokens:
                    cut.append([])
                cut[-1].append(place)
            for number in chance.permutation(len(cut)):
                yield cut[number]


@dataclass(slots=True)
class State:
    """Where the training is: seconds used, the epoch and the batch in it."""

    seconds: float = 0.0
    epoch: int = 0
    batch: int = 0
    steps: int = 0
    seen: int = 0


def rate(progress: float, warm: float = 0.04) -> float:
    """Return the share of the highest learning rate: up in the first part, then down along a cosine."""
    if progress < warm:
        return progress / warm
    return 0.5 * (1 + math.cos(math.pi * min(1.0, (progress - warm) / (1 - warm))))


def parameters(network: Reader, given: argparse.Namespace) -> list[dict[str, object]]:
    network.words.weight.requires_grad_(given.train_words)
    frozen = [network.places, network.types, network.norm] if given.frozen else []
    for part in (*frozen, *network.layers[: given.frozen]):
        part.requires_grad_(requires_grad=False)
    fresh = ("pool.", "answerable.", "tokens.")
    named = [(name, each) for name, each in network.named_parameters() if each.requires_grad]
    return [
        {"params": [each for name, each in named if not name.startswith(fresh)], "top": given.rate},
        {"params": [each for name, each in named if name.startswith(fresh)], "top": 4 * given.rate},
    ]


def train(given: argparse.Namespace) -> None:
    torch.manual_seed(given.seed)
    torch.set_num_threads(given.threads)
    given.out.mkdir(parents=True, exist_ok=True)
    network = from_minilm(given.weights, given.layers).to(given.device).train()
    if given.begin:
        begun = torch.load(given.begin, map_location=given.device, weights_only=True)["network"]
        network.load_state_dict({name: begun[name] for name in network.state_dict()})
    groups = parameters(network, given)
    optimizer = torch.optim.AdamW(groups, lr=given.rate, weight_decay=0.01, betas=(0.9, 0.98))
    shares = {name: float(part) for name, _, part in (each.partition("=") for each in given.share)}
    examples = Examples(given.examples, given.device, shares)
    print(f"{len(examples):,} examples", flush=True)
    state, saved = State(), given.out / "checkpoint.pt"
    if saved.exists():
        kept = torch.load(saved, map_location=given.device, weights_only=True)
        network.load_state_dict(kept["network"])
        optimizer.load_state_dict(kept["optimizer"])
        state = State(**kept["state"])
    run(given, network, optimizer, examples, state)


def run(
    given: argparse.Namespace,
    network: Reader,
    optimizer: torch.optim.Optimizer,
    examples: Examples,
    state: State,
) -> None:
    limit, last, told, means = given.minutes * 60, time.time(), time.time(), {}
    kept_at = time.time()
    log = (given.out / "log.jsonl").open("a")
    while state.seconds < limit and state.epoch < given.epochs:
        for number, places in enumerate(examples.batches(state.epoch, given.tokens)):
            if number < state.batch:
                continue
            progress = max(state.seconds / limit, state.seen / (given.epochs * len(examples)))
            for group in optimizer.param_groups:
                group["lr"] = group["top"] * rate(progress)
            with torch.autocast(given.device, dtype=torch.bfloat16):
                total, parts = loss(network, examples.batch(places))
            total.backward()
            torch.nn.utils.clip_grad_norm_(
                [each for each in network.parameters() if each.requires_grad], 1.0
            )
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            now = time.time()
            state.seconds, last = state.seconds + now - last, now
            state.batch, state.steps, state.seen = (
                number + 1,
                state.steps + 1,
                state.seen + len(places),
            )
            means = {
                name: 0.98 * means.get(name, value) + 0.02 * value for name, value in parts.items()
            }
            if now - told > given.tell:
                told = now
                line = {
                    "seconds": round(state.seconds),
                    "seen": state.seen,
                    "progress": round(progress, 3),
                } | {name: round(value, 4) for name, value in means.items()}
                log.write(json.dumps(line) + "\n")
                log.flush()
                print(line, flush=True)
            if now - kept_at > given.keep or state.seconds >= limit:
                keep(given.out, network, optimizer, state)
                kept_at = now
            if state.seconds >= limit:
                break
        else:
            state.epoch, state.batch = state.epoch + 1, 0
    keep(given.out, network, optimizer, state)


def keep(out: Path, network: Reader, optimizer: torch.optim.Optimizer, state: State) -> None:
    """Write the checkpoint beside the old one and put it in its place, so that a stop at any time leaves one whole."""
    new = out / "checkpoint.new"
    torch.save(
        {
            "network": network.state_dict(),
            "optimizer": optimizer.state_dict(),
            "state": {name: getattr(state, name) for name in State.__slots__},
        },
        new,
    )
    new.replace(out / "checkpoint.pt")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("weights", type=Path)
    parser.add_argument("examples", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--share", action="append", default=[], help="SOURCE=0.3: use 30 %% of it")
    parser.add_argument("--begin", type=Path, help="a checkpoint whose first layers to begin with")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--rate", type=float, default=1.5e-4)
    parser.add_argument("--tokens", type=int, default=4096)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--frozen", type=int, default=0, help="layers that stay as they are")
    parser.add_argument("--train-words", action="store_true")
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--tell", type=float, default=30)
    parser.add_argument("--keep", type=float, default=120)
    train(parser.parse_args())


if __name__ == "__main__":
    main()
