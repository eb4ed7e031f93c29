"""The library: one project's documents, questions, graph, jobs and sources, each a part of `KnowledgeBase`.

Every method that reads takes the reader by position: there is no default reader. A part is loaded when it is first used: a command that asks one
question needs a third of the modules that all parts have.
"""

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from lightwell.answer.pipeline import AnswerGenerator
from lightwell.domain.access import Reader, Tags, parse_tags
from lightwell.ingest.context import IngestContext
from lightwell.knowledge_base.questions import Questions
from lightwell.records import access_classes, projects
from lightwell.records.query_log import QueryRecorder
from lightwell.retrieve.pipeline import Retriever

if TYPE_CHECKING:
    from lightwell.curate.graph import Graph
    from lightwell.ingest.summaries import Summarizer
    from lightwell.knowledge_base.analytics import Analytics
    from lightwell.knowledge_base.conversations import Conversations
    from lightwell.knowledge_base.documents import Documents
    from lightwell.knowledge_base.embeddings import Embeddings
    from lightwell.knowledge_base.ingestion import Ingestion
    from lightwell.knowledge_base.jobs import Jobs
    from lightwell.knowledge_base.originals import Originals
    from lightwell.knowledge_base.page_pictures import PagePictures
    from lightwell.knowledge_base.pushes import Pushes
    from lightwell.knowledge_base.sources import Sources


class KnowledgeBase:
    """One project, open for reading and writing; `lightwell.open_knowledge_base` makes one.

    `sources` (business systems that are synced into the project) and `embeddings` (its embedding models) are for
    administrators. `summarizer` is used by merges with the strategy LLM_SUMMARIZE, also where rules extract.
    """

    def __init__(
        self,
        context: IngestContext,
        retriever: Retriever,
        answers: AnswerGenerator,
        *,
        summarizer: "Summarizer | None" = None,
    ) -> None:
        self.project_id = context.project_id
        self._readers = access_classes.Readers(context.database, context.project_id)
        self.questions = Questions(
            database=context.database,
            retriever=retriever,
            generator=answers,
            recorder=QueryRecorder(context.database),
        )
        self._context = context
        self._summarizer = summarizer

    @cached_property
    def documents(self) -> "Documents":
        from lightwell.knowledge_base.documents import Documents

        return Documents(context=self._context, separator=self.questions.generator.separator)

    @cached_property
    def originals(self) -> "Originals":
        from lightwell.knowledge_base.originals import Originals

        return Originals(database=self._context.database)

    @cached_property
    def pictures(self) -> "PagePictures":
        from lightwell.knowledge_base.page_pictures import PagePictures

        return PagePictures(originals=self.originals, parser=self._context.parser)

    @cached_property
    def ingestion(self) -> "Ingestion":
        from lightwell.knowledge_base.ingestion import Ingestion

        return Ingestion(context=self._context)

    @cached_property
    def conversations(self) -> "Conversations":
        from lightwell.knowledge_base.conversations import Conversations

        return Conversations(database=self._context.database)

    @cached_property
    def graph(self) -> "Graph":
        from lightwell.curate.context import CurationContext
        from lightwell.curate.graph import Graph
        from lightwell.ingest.derived_data import finish_derived_for

        return Graph(
            context=CurationContext(
                database=self._context.database,
                graph=self.questions.retriever.stores.graph,
                summarize=self._summarizer.summarize if self._summarizer else None,
                finish_derived=lambda reader, since: finish_derived_for(
                    self._context, reader, since
                ),
                separator=self.questions.generator.separator,
            )
        )

    @cached_property
    def jobs(self) -> "Jobs":
        from lightwell.knowledge_base.jobs import Jobs

        return Jobs(database=self._context.database)

    @cached_property
    def sources(self) -> "Sources":
        from lightwell.knowledge_base.sources import Sources

        return Sources(context=self._context)

    @cached_property
    def pushes(self) -> "Pushes":
        from lightwell.knowledge_base.pushes import Pushes

        return Pushes(context=self._context)

    @cached_property
    def embeddings(self) -> "Embeddings":
        from lightwell.knowledge_base.embeddings import Embeddings

        return Embeddings(context=self._context)

    @cached_property
    def analytics(self) -> "Analytics":
        from lightwell.knowledge_base.analytics import Analytics

        return Analytics(database=self._context.database)

    async def reader(self, tags: Iterable[str], *, user: str = "") -> Reader:
        """Return the reader with these access tags; raise `Invalid` for a malformed tag.

        `user` owns sessions and conversations; without it, the one that a single `user:` tag names owns sessions.
        """
        return await self._readers.resolve(parse_tags(tags), user)

    async def owner_tags(self) -> Tags:
        """Return the access tag of the project's owner, none where it has no owner."""
        tag = await projects.get_owner_tag(self._context.database, self.project_id)
        return frozenset({tag} if tag else ())
