"""Makes weights small enough to travel: half precision to carry, and parts to bring back.

python -m training.pack half MODEL.safetensors HALF.safetensors
python -m training.pack split RUN/checkpoint.pt FOLDER     (the network alone, in half precision)
python -m training.pack join FOLDER RUN/checkpoint.pt
"""

import argparse
import io
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

PART_BYTES = 15 * 2**20


def half(source: Path, out: Path) -> None:
    save_file({name: tensor.half() for name, tensor in load_file(source).items()}, out)


def split(source: Path, out: Path) -> None:
    network = torch.load(source, map_location="cpu", weights_only=True)["network"]
    content = io.BytesIO()
    torch.save({"network": {name: tensor.half() for name, tensor in network.items()}}, content)
    out.mkdir(parents=True, exist_ok=True)
    whole = content.getvalue()
    for number, first in enumerate(range(0, len(whole), PART_BYTES)):
        (out / f"{source.parent.name}.part{number}").write_bytes(whole[first : first + PART_BYTES])


def join(source: Path, out: Path) -> None:
    whole = b"".join(part.read_bytes() for part in sorted(source.glob("*.part*")))
    kept = torch.load(io.BytesIO(whole), map_location="cpu", weights_only=True)
    torch.save({"network": {name: each.float() for name, each in kept["network"].items()}}, out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("verb", choices=("half", "split", "join"))
    parser.add_argument("source", type=Path)
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    {"half": half, "split": split, "join": join}[given.verb](given.source, given.out)


if __name__ == "__main__":
    main()
