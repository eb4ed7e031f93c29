"""Which files of a folder or a repository are skipped by their names alone: the one list of them."""

from pathlib import PurePosixPath

from lightwell.domain.formats import IMAGE_EXTENSIONS
from lightwell.ingest.parse.formats import has_known_extension

EMPTY, BINARY, BY_GITIGNORE, BY_SETTINGS = "empty", "binary", "in .gitignore", "in .lightwell.yaml"
_HIDDEN, _LOCK, _MINIFIED = "hidden", "lock files", "minified"

_UNREMARKABLE = frozenset((".git", ".gitignore", ".gitattributes", ".lightwell.yaml", ".DS_Store"))
"""Hidden files that nobody misses, so that they are not counted."""

_FOREIGN = frozenset(("node_modules", "bower_components", "__pycache__", "site-packages"))
_BUILT = frozenset(("vendor", "target", "dist"))
"""Folders of others' code and of what was built, where a manifest is beside them; elsewhere they may be anybody's documents."""

MANIFESTS = frozenset(
    (
        *("package.json", "composer.json", "go.mod", "Gemfile", "Cargo.toml", "pyproject.toml"),
        *("setup.py", "pom.xml", "build.gradle", "build.gradle.kts", "build.sbt"),
    )
)
_LOCKS = frozenset(
    (
        *("package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "packages.lock.json"),
        *("bun.lockb", "go.sum", "gradle.lockfile", "Package.resolved"),
    )
)


def why_skip_folder(name: str, *, is_in_package: bool) -> str | None:
    """Return as what a folder is counted that is skipped, "" for one that is not counted; None for one that is read."""
    if name.startswith("."):
        return _why_skip_hidden(name)
    return f"{name}/" if name in _FOREIGN or (is_in_package and name in _BUILT) else None


def why_skip_file(name: str) -> str | None:
    """Return the same of a file: what is hidden, or written by a program for itself."""
    if name.startswith("."):
        return _why_skip_hidden(name)
    suffixes = PurePosixPath(name).suffixes
    if name in _LOCKS or name.endswith(".lock"):
        return _LOCK
    if ".min" in suffixes[:-1] or suffixes[-1:] == [".map"]:
        return _MINIFIED
    return None


def why_skip_content(name: str, reason: str) -> str:
    """Return as what a file is counted that cannot be read for this reason, since it is no document; "" if it is one."""
    match reason, PurePosixPath(name).suffix.lower():
        case "empty", _:
            return EMPTY
        case "template", _:
            return "templates"
        case "outside", _:
            return "links outside"
        case "binary", "":
            return BINARY
        case "unsupported", extension if not has_known_extension(name):
            return extension
        case _:
            return ""


def why_skip_path(path: str, packages: frozenset[str]) -> str | None:
    """Return the same of a file of a repository: by its folders, its name and its format; `packages` are folders with a manifest."""
    *folders, name = path.split("/")
    above = ""
    for folder in folders:
        reason = why_skip_folder(folder, is_in_package=above in packages)
        if reason is not None:
            return reason
        above = f"{above}/{folder}".lstrip("/")
    if (extension := PurePosixPath(name).suffix.lower()) in IMAGE_EXTENSIONS:
        return extension  # those of a repository are seldom of text
    reason = why_skip_file(name)
    return reason if reason is not None else why_skip_content(name, "unsupported") or None


def _why_skip_hidden(name: str) -> str:
    return "" if name in _UNREMARKABLE else _HIDDEN
