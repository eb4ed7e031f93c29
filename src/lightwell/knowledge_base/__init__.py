"""The library: one project's documents, questions, graph, jobs and sources, each a part of `KnowledgeBase`.

Every method that reads takes the reader by position: there is no default reader.
"""

from collections.abc import Iterable

from lightwell.answer.pipeline import AnswerGenerator
from lightwell.curate.context import CurationContext
from lightwell.curate.graph import Graph
from lightwell.domain.access import Reader, parse_tags
from lightwell.domain.documents import Status
from lightwell.ingest.context import IngestContext
from lightwell.ingest.derived_data import finish_derived_for
from lightwell.ingest.summaries import Summarizer
from lightwell.knowledge_base.analytics import Analytics
from lightwell.knowledge_base.conversations import Conversations
from lightwell.knowledge_base.documents import Documents
from lightwell.knowledge_base.embeddings import Embeddings
from lightwell.knowledge_base.ingestion import Ingestion, IngestionResult
from lightwell.knowledge_base.jobs import Jobs
from lightwell.knowledge_base.originals import Originals
from lightwell.knowledge_base.page_pictures import PagePictures
from lightwell.knowledge_base.questions import Questions
from lightwell.knowledge_base.sources import Sources
from lightwell.records import access_classes
from lightwell.records.query_log import QueryRecorder
from lightwell.retrieve.pipeline import Retriever

__all__ = ["IngestionResult", "KnowledgeBase", "Status"]


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
        summarizer: Summarizer | None = None,
    ) -> None:
        database, separator = context.database, answers.separator
        self.project_id = context.project_id
        self._readers = access_classes.Readers(database, context.project_id)
        self.documents = Documents(context=context, separator=separator)
        self.originals = Originals(database=database)
        self.pictures = PagePictures(originals=self.originals, parser=context.parser)
        self.ingestion = Ingestion(context=context)
        self.questions = Questions(
            database=database,
            retriever=retriever,
            generator=answers,
            recorder=QueryRecorder(database),
        )
        self.conversations = Conversations(database=database)
        self.graph = Graph(
            context=CurationContext(
                database=database,
                graph=retriever.stores.graph,
                summarize=summarizer.summarize if summarizer else None,
                finish_derived=lambda reader, since: finish_derived_for(context, reader, since),
                separator=separator,
            )
        )
        self.jobs = Jobs(database=database)
        self.sources = Sources(context=context)
        self.embeddings = Embeddings(context=context)
        self.analytics = Analytics(database=database)

    async def reader(self, tags: Iterable[str], *, user: str = "") -> Reader:
        """Return the reader with these access tags; raise `Invalid` for a malformed tag.

        `user` owns sessions and conversations; without it, the one that a single `user:` tag names owns sessions.
        """
        return await self._readers.resolve(parse_tags(tags), user)
