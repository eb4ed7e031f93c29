"""The access tags that were given to folders, and which of them apply to a file."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from lightwell.domain.access import Tags

_ROOT = "file:///"

NO_FILE = (
    "Document not found: there is no such file, or neither its front matter, a .lightwell.yaml nor an ingestion of its folder"
    " (`lightwell ingest FOLDER --acl TAG`) says that you may see it"
)
"""What is said of a file that is not there, and in the same words of one that a client may not see."""


@dataclass(frozen=True, slots=True)
class FolderTags:
    """Access tags of folders and files by their `file:` URLs; no tags are nobody."""

    by_url: Mapping[str, Tags] = field(default_factory=dict[str, Tags])

    def find(self, url: str) -> Tags | None:
        """Return the tags of the nearest folder at or above this file or folder, None where no folder has any."""
        return next(
            (self.by_url[folder] for folder in urls_at_and_above(url) if folder in self.by_url),
            None,
        )

    def below(self, url: str) -> "FolderTags":
        """Return those of what is in this folder, without the folder's own and those of the folders above it."""
        inside = url.rstrip("/") + "/"
        return FolderTags(
            {folder: tags for folder, tags in self.by_url.items() if folder.startswith(inside)}
        )

    def changed_by(self, url: str, tags: Tags) -> dict[str, Tags]:
        """Return the tags of this folder, and of those below it, that are other tags than these, by URL."""
        here = self.find(url)
        inside = {
            folder: old for folder, old in self.by_url.items() if url in urls_at_and_above(folder)
        }
        before = inside if here is None else {url: here} | inside
        return {folder: old for folder, old in before.items() if old != tags}


def urls_at_and_above(url: str) -> Iterator[str]:
    """Yield the `file:` URL of a file or folder, then those of the folders above it, the nearest first."""
    yield url
    while url.count("/") > _ROOT.count("/"):
        url = url.rpartition("/")[0]
        yield url
    if url != _ROOT:
        yield _ROOT


NOTHING_REMEMBERED = FolderTags()
