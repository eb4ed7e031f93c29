"""The files of a repository's default branch in formats that are read: only those whose blob differs from the last time are read."""

import hashlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

from lightwell.connectors._skipping import MANIFESTS, why_skip_content, why_skip_path
from lightwell.connectors.api_client import ResponseTooLarge
from lightwell.connectors.github.api import GithubApi, Unchanged, parse, path_of
from lightwell.connectors.github.cursors import FilePosition
from lightwell.connectors.github.documents import make_file
from lightwell.connectors.github.models import Branch, Repository, Tree, TreeEntry
from lightwell.connectors.github.reading import size_of
from lightwell.connectors.github.structure import file_ref
from lightwell.connectors.rows import Result, make_too_large
from lightwell.domain.errors import SourceFailed, Unreadable
from lightwell.domain.formats import EXTENSIONS
from lightwell.domain.source_items import UnreadableItem

_REGULAR = ("100644", "100755")
_FOLDER = "tree"
_ANY_FILE = "any.md"
_MAX_FILE_BYTES = 10 * 1000**2
_MAX_DEPTH = 100
"""Folders in each other; a tree that holds itself would be read for ever."""

_FORMATS = hashlib.sha256(repr(sorted(EXTENSIONS.values())).encode()).hexdigest()[:12]
"""Stands for the formats that are read."""

_PAGE_FILES, _PAGE_BYTES = 50, 8 * 1000**2

Entries = Mapping[str, TreeEntry]
"""Files by their path."""


@dataclass(frozen=True, slots=True)
class FilePage:
    """Files that changed; `position` is behind them."""

    results: list[Result]
    position: FilePosition


@dataclass(frozen=True, slots=True)
class FileReader:
    """Reads the files of one repository."""

    api: GithubApi
    repository: Repository

    async def walk(self, position: FilePosition) -> AsyncIterator[FilePage]:
        """Yield what changed since the position, in the order of paths.

        After a renaming, and for another default branch, all files are read, because their addresses differ; a sweep
        finds what the other branch has not. So they are when Lightwell has learnt to read another format.
        """
        name, branch = self.repository.full_name, self.repository.default_branch
        if (position.name, position.branch, position.formats) != (name, branch, _FORMATS):
            position = FilePosition(name=name, branch=branch, formats=_FORMATS)
        etag = "" if position.target else position.etag
        answer = await self.api.get_changed(path_of(name, "branches", branch), {}, etag)
        if isinstance(answer, Unchanged):
            return
        root = "" if answer is None else parse(Branch, answer.object).tree
        etag = "" if answer is None else answer.etag
        rest = position.model_copy(update={"tree": root, "etag": etag, "target": "", "after": ""})
        old = await self.read_tree(position.tree)
        new = old if position.tree == root else await self.read_tree(root)
        changed = sorted(
            path for path, entry in new.items() if path not in old or old[path].sha != entry.sha
        )
        # A crash goes on behind `after`, as long as the branch still has the folder that was being read.
        after = position.after if position.target == root else ""
        begun = position.model_copy(update={"target": root})
        left = [new[path] for path in changed if path > after]
        async for page in self._read_changed(left, begun):
            yield page
        gone = sorted(old.keys() - new.keys())
        yield FilePage([file_ref(self.repository.id, path) for path in gone], rest)

    async def _read_changed(
        self, entries: list[TreeEntry], position: FilePosition
    ) -> AsyncIterator[FilePage]:
        results: list[Result] = []
        for entry in entries:
            results.append(await self.read(entry))
            if len(results) == _PAGE_FILES or sum(map(size_of, results)) > _PAGE_BYTES:
                yield FilePage(results, position.model_copy(update={"after": entry.path}))
                results = []
        if results:
            yield FilePage(results, position.model_copy(update={"after": entries[-1].path}))

    async def list_files(self) -> Entries:
        """Return the files of the default branch that are read."""
        repository = self.repository
        path = path_of(repository.full_name, "branches", repository.default_branch)
        answer = await self.api.get(path)
        return {} if answer is None else await self.read_tree(parse(Branch, answer.object).tree)

    async def read_tree(self, sha: str, folder: str = "") -> Entries:
        """Return the files below a folder that are read; none for "", or for a folder that GitHub no longer keeps."""
        if not sha:
            return {}
        if folder.count("/") > _MAX_DEPTH:
            raise SourceFailed(
                f"The folders of {self.repository.full_name} lie too deep in each other"
            )
        path = path_of(self.repository.full_name, "git", "trees", sha)
        answer = await self.api.get(path, {"recursive": 1})
        if answer is None:
            return {}
        tree = parse(Tree, answer.object)
        if not tree.truncated:
            return {entry.path: entry for entry in _pick_files(folder, tree)}
        answer = await self.api.get(path)  # one level; folders by calls of their own
        level = Tree(tree=()) if answer is None else parse(Tree, answer.object)
        entries = {entry.path: entry for entry in _pick_files(folder, level)}
        packages = _packages(folder, level)
        for item in level.tree:
            if item.type == _FOLDER and is_read(f"{folder}{item.path}/{_ANY_FILE}", packages):
                entries |= await self.read_tree(item.sha, f"{folder}{item.path}/")
        return entries

    async def read(self, entry: TreeEntry) -> Result:
        """Return a file as an item."""
        ref = file_ref(self.repository.id, entry.path)
        path = path_of(self.repository.full_name, "git", "blobs", entry.sha)
        try:
            content = await self.api.get_raw(path)
        except ResponseTooLarge as error:
            return make_too_large(ref, error)
        if content is None:
            return ref
        try:
            return make_file(self.repository, entry, content)
        except Unreadable as error:
            if why_skip_content(entry.path, error.reason):
                return ref  # no document, as it turns out
            return UnreadableItem(ref=ref, reason=error.reason, message=str(error))


def _pick_files(folder: str, tree: Tree) -> list[TreeEntry]:
    """Return the files of a tree that are read, by their whole path."""
    packages = _packages(folder, tree)
    return [
        entry.model_copy(update={"path": folder + entry.path})
        for entry in tree.tree
        if entry.mode in _REGULAR
        and is_read(folder + entry.path, packages)
        and entry.size <= _MAX_FILE_BYTES
    ]


def _packages(folder: str, tree: Tree) -> frozenset[str]:
    """Return the folders of a tree that have a manifest, by their whole path."""
    places = ((folder + entry.path).rpartition("/") for entry in tree.tree)
    return frozenset(place for place, _, name in places if name in MANIFESTS)


def is_read(path: str, packages: frozenset[str] = frozenset()) -> bool:
    """Return whether a file is read, by its path; `packages` are the folders with a manifest, as far as they are known."""
    return why_skip_path(path, packages) is None
