"""Adds to a source a default topic, and refuses new documents that nobody could see."""

import hashlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace

from lightwell.connectors.exports.source import ExportedWiki
from lightwell.connectors.files import Files
from lightwell.domain.access import Tags
from lightwell.domain.documents import FRONT_MATTER, NewDocument
from lightwell.ports import (
    Change,
    ChangedDocument,
    UnchangedDocument,
    UnreadableDocument,
)

_NO_TAGS = (
    "it has no access tags, so nobody could see it; "
    "set --acl TAG, or `acl_tags` in its front matter or in a .lightwell.yaml"
)


@dataclass(slots=True, kw_only=True)
class GuardedSource:
    """A source that reports a new document without access tags as unreadable, and records the tags of the others.

    A known document of which nothing says any more who may see it stays as it is: `kept` lists it. One that is for
    nobody now, because that is said, is passed on; `unseen` lists it.
    `tags` maps a document's URL to its tags. `overruled` maps the URL of each document to which `acl` does not apply
    to what set its tags.
    """

    source: Files | ExportedWiki
    topic: str
    acl: Tags = frozenset()
    refused: int = 0
    unseen: list[str] = field(default_factory=list[str])
    kept: list[str] = field(default_factory=list[str])
    tags: dict[str, Tags] = field(default_factory=dict[str, Tags])
    overruled: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def scope(self) -> str:
        """Return the scope of the wrapped source."""
        return self.source.scope

    async def changes(self, hashes: Mapping[str, str]) -> AsyncIterator[Change]:
        """Yield the changes of the source, with the topic added and untagged new documents refused."""
        # a topic is part of the stored hash, so the source's own hashes never match: ask it for every document
        hashes_to_compare = dict.fromkeys(hashes, "") if self.topic else hashes
        async for change in self.source.changes(hashes_to_compare):
            match change:
                case ChangedDocument(document=document) | UnchangedDocument(document=document):
                    if document.url in hashes and not self._is_access_stated(document):
                        self.kept.append(document.url)
                    else:
                        yield self._refuse_untagged(change, document, hashes)
                case _:
                    yield change

    def _is_access_stated(self, document: NewDocument) -> bool:
        """Return whether anything says who may see the document, or that nobody may."""
        return bool(
            document.acl_tags
            or document.acl_origin
            or self.source.folder_tags.find(document.url) is not None
        )

    def _refuse_untagged(
        self,
        change: ChangedDocument | UnchangedDocument,
        document: NewDocument,
        hashes: Mapping[str, str],
    ) -> Change:
        if not document.acl_tags:
            if document.url not in hashes:
                self.refused += 1
                return UnreadableDocument(url=document.url, reason="no_tags", message=_NO_TAGS)
            self.unseen.append(document.url)
        self.tags[document.url] = document.acl_tags
        if self.acl and document.acl_tags != self.acl:
            is_own = document.acl_origin == FRONT_MATTER
            self.overruled[document.url] = document.url if is_own else document.acl_origin
        return self._with_topic(document, hashes) if self.topic else change

    def _with_topic(self, document: NewDocument, hashes: Mapping[str, str]) -> Change:
        if not document.topic:
            digest = hashlib.sha256(f"{document.content_hash}\0{self.topic}".encode()).hexdigest()
            document = replace(document, topic=self.topic, content_hash=digest)
        if hashes.get(document.url) == document.content_hash:
            return UnchangedDocument(url=document.url, document=replace(document, content=b""))
        return ChangedDocument(document=document)
