"""The multi-hop questions of MuSiQue as a collection that is asked through `lightwell eval`, once and looking twice.

`python -m benchmarks multi_hop FOLDER` writes it: each passage is a document, and each question says its hops, which the scripted
reader searches one by one (`python -m lightwell.testing.perfect_reader FOLDER/questions.jsonl -- lightwell eval FOLDER --look-twice`).
Says so and does nothing where `../shared/eval` is absent.
"""

import argparse
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SET = Path(__file__).parents[2] / "shared" / "eval" / "musique_train100"
_BEFORE, _AFTER = 20, 40
"""Characters around the answer of a hop, by which one tells that its passage was read."""


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks multi_hop", description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args(arguments).folder
    if not SET.is_dir():
        print(f"skipped: there is no set {SET.name}")
        return
    documents = folder / "documents"
    documents.mkdir(parents=True, exist_ok=True)
    texts: dict[str, str] = {}
    for line in _lines("corpus"):
        texts[line["id"]] = line["text"]
        page = f"# {line['title']}\n\n{line['text']}\n"
        (documents / f"{line['id']}.md").write_text(page, "utf-8")
    questions = [json.dumps(_question(line, texts)) for line in _lines("questions")]
    (folder / "questions.jsonl").write_text("\n".join(questions) + "\n", "utf-8")
    print(f"{len(texts)} documents and {len(questions)} questions in {folder}")


def _lines(name: str) -> Iterator[dict[str, Any]]:
    with gzip.open(SET / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def _question(line: dict[str, Any], texts: dict[str, str]) -> dict[str, object]:
    hops: list[dict[str, str]] = []
    for hop in line["hops"]:
        text, answer = texts[hop["gold"]], hop["answer"]
        place = max(0, text.find(answer))
        evidence = text[max(0, place - _BEFORE) : place + _AFTER].strip()
        hops.append({"question": hop["question"], "answer": answer, "evidence": evidence})
    return {
        "id": line["id"],
        "question": line["question"],
        "kind": line["type"][:4],
        "gold": [f"{passage}.md" for passage in line["gold"]],
        "answer_any": [[line["answer"]]],
        "split": line["split"],
        "hops": hops,
    }
