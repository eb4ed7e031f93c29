"""What the command line adds to a source: a topic for documents without one, and a guard against unseen ones."""

import hashlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace

from lightwell.domain.access import Tags
from lightwell.domain.documents import FRONT_MATTER, NewDocument
from lightwell.ports import (
    Change,
    ChangedDocument,
    Connector,
    UnchangedDocument,
    UnreadableDocument,
)

_NO_TAGS = (
    "it has no access tags, so nobody could see it; "
    "give --acl TAG, or `acl_tags` in its front matter or in a .lightwell.yaml"
)


@dataclass(slots=True, kw_only=True)
class GuardedSource:
    """A source that hands over no new document that nobody could see, and counts who may see the others.

    One that is known and has lost its tags passes, since from now on nobody may see it; it is counted in `unseen`.
    `tags` are each document's by URL; `overruled` says of those to which the tags `acl` do not apply what set theirs.
    """

    source: Connector
    topic: str
    acl: Tags = frozenset()
    refused: int = 0
    unseen: list[str] = field(default_factory=list[str])
    tags: dict[str, Tags] = field(default_factory=dict[str, Tags])
    overruled: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def scope(self) -> str:
        """Return the source's own."""
        return self.source.scope

    async def changes(self, known: Mapping[str, str]) -> AsyncIterator[Change]:
        """Yield what the source does, with the topic, and without what nobody could see."""
        # with a topic no hash of the source's own is the known one, so it has to hand over everything
        told = dict.fromkeys(known, "") if self.topic else known
        async for change in self.source.changes(told):
            match change:
                case ChangedDocument(document=document) | UnchangedDocument(document=document):
                    yield self._refuse_untagged(change, document, known)
                case _:
                    yield change

    def _refuse_untagged(
        self,
        change: ChangedDocument | UnchangedDocument,
        document: NewDocument,
        known: Mapping[str, str],
    ) -> Change:
        if not document.acl_tags:
            if document.url not in known:
                self.refused += 1
                return UnreadableDocument(url=document.url, reason="no_tags", message=_NO_TAGS)
            self.unseen.append(document.url)
        self._count(document)
        return self._with_topic(document, known) if self.topic else change

    def _count(self, document: NewDocument) -> None:
        self.tags[document.url] = document.acl_tags
        if self.acl and document.acl_tags != self.acl:
            is_own = document.acl_origin == FRONT_MATTER
            self.overruled[document.url] = document.url if is_own else document.acl_origin

    def _with_topic(self, document: NewDocument, known: Mapping[str, str]) -> Change:
        if not document.topic:
            digest = hashlib.sha256(f"{document.content_hash}\0{self.topic}".encode()).hexdigest()
            document = replace(document, topic=self.topic, content_hash=digest)
        if known.get(document.url) == document.content_hash:
            return UnchangedDocument(url=document.url, document=replace(document, content=b""))
        return ChangedDocument(document=document)
