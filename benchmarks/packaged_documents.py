"""Copies the documents that our own questions are about out of installed Debian packages.

`python -m benchmarks packaged_documents borg /tmp/borg` fills the folder; then `lightwell eval benchmarks/questions/borg --documents /tmp/borg`.
"""

import argparse
import hashlib
import shutil
import sys
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from lightwell.domain.errors import Invalid

QUESTIONS = Path(__file__).parent / "questions"
NAMES = tuple(sorted(each.parent.name for each in QUESTIONS.glob("*/documents.toml")))


class Source(BaseModel):
    """Files of one package: those below `folder` go below `into`, with `suffix` added to their names.

    `sha256` is that of the files, one after the other, on which the questions were written.
    """

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    package: str
    version: str
    sha256: str
    licence: str
    folder: str
    into: str
    suffix: str = ""
    files: list[str]

    def paths(self, root: Path) -> dict[str, Path]:
        """Return the file below `root` for each path within the collection."""
        folder = root / self.folder.lstrip("/")
        return {
            (Path(self.into) / f"{name}{self.suffix}").as_posix(): folder / name
            for name in self.files
        }


class Selection(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    title: str
    source: list[Source]


def read_selection(name: str) -> Selection:
    """Return which files of which packages the questions of this name are about."""
    written = (QUESTIONS / name / "documents.toml").read_text(encoding="utf-8")
    return Selection.model_validate(tomllib.loads(written))


def find_missing_packages(selection: Selection, root: Path) -> list[str]:
    """Return the packages of which a file is not there, in the order of the selection."""
    return [
        source.package
        for source in selection.source
        if not all(path.is_file() for path in source.paths(root).values())
    ]


def copy_documents(selection: Selection, root: Path, folder: Path) -> int:
    """Copy the documents into `folder` and return how many there are; raise `Invalid` naming the packages to install."""
    missing = find_missing_packages(selection, root)
    if missing:
        raise Invalid(
            f"the documents are not complete below {root}: run `apt-get install --no-install-recommends"
            f" {' '.join(missing)}`, or unpack the packages with `dpkg -x` and name that folder with --root. Some"
            " container images leave /usr/share/doc out; there only --root helps"
        )
    copied = 0
    for source in selection.source:
        for name, path in source.paths(root).items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, folder / name)
            copied += 1
    return copied


def find_changed_packages(selection: Selection, root: Path) -> list[str]:
    """Return the packages whose files are there and are others than those on which the questions were written."""
    return [
        source.package
        for source in selection.source
        if all(path.is_file() for path in source.paths(root).values())
        and hash_files(source.paths(root).values()) != source.sha256
    ]


def hash_files(paths: Iterable[Path]) -> str:
    """Return the SHA-256 of the files, one after the other."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks packaged_documents", description=__doc__
    )
    parser.add_argument(
        "name", choices=NAMES, help="the collection, a folder in benchmarks/questions"
    )
    parser.add_argument("folder", type=Path, help="where the documents go; it must not exist yet")
    parser.add_argument(
        "--root", type=Path, default=Path("/"), help="where packages are unpacked, if not in /"
    )
    chosen = parser.parse_args(arguments)
    name, folder, root = str(chosen.name), Path(chosen.folder), Path(chosen.root)
    if folder.exists():
        parser.error(
            f"{folder} exists already; name a new folder, so that no other document gets in"
        )
    selection = read_selection(name)
    try:
        copied = copy_documents(selection, root, folder)
    except Invalid as error:
        sys.exit(str(error))
    for package in find_changed_packages(selection, root):
        print(
            f"warning: the files of {package} are others than those on which the questions were written;"
            " documents.toml names its version",
            file=sys.stderr,
        )
    print(f"{copied} documents in {folder}")
    print(f"lightwell eval {QUESTIONS / name} --documents {folder}")


if __name__ == "__main__":
    main(sys.argv[1:])
