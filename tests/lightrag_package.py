"""LightRAG itself, from the registry of packages: it is tested against, and is no dependency of Lightwell."""

from pathlib import Path

from lightwell.entrypoints.http.lightrag_speech import VERSION
from tests.entrypoints.test_wheel import uv


def install_lightrag(folder: Path, *, with_dependencies: bool = False) -> Path:
    """Put LightRAG into a folder, and return that of its package; skip the test without a network."""
    install(folder, f"lightrag-hku=={VERSION}", with_dependencies=with_dependencies)
    return folder / "lightrag"


def install(folder: Path, package: str, *, with_dependencies: bool = False) -> None:
    """Put a package into a folder; skip the test without a network."""
    options = [] if with_dependencies else ["--no-deps"]
    uv("pip", "install", "--quiet", "--target", folder, *options, package)
