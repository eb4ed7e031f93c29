"""The methods of both clients, made of the same calls."""

from collections.abc import Awaitable, Callable
from typing import Generic, ParamSpec, Protocol, Self, TypeVar, overload

import lightwell.entrypoints.client.document_calls as document_calls
import lightwell.entrypoints.client.edit_calls as edit_calls
import lightwell.entrypoints.client.feedback_calls as feedback_calls
import lightwell.entrypoints.client.graph_calls as graph_calls
import lightwell.entrypoints.client.job_calls as job_calls
import lightwell.entrypoints.client.link_calls as link_calls
import lightwell.entrypoints.client.question_calls as question_calls
import lightwell.entrypoints.client.source_calls as source_calls
from lightwell.entrypoints.client.calls import Call

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R")


class _Sends(Protocol):
    """`Client`: the reply to a call is returned."""

    def send(self, call: Call[R]) -> R: ...


class _SendsLater(Protocol):
    """`AsyncClient`: the reply to a call is awaited."""

    async def send(self, call: Call[R]) -> R: ...


class Operation(Generic[P, T]):
    """A method of both clients: it returns the reply, in `AsyncClient` to be awaited. Both raise `ServerError`."""

    def __init__(self, make: Callable[P, Call[T]]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    @overload
    def __get__(self, client: _Sends, owner: type) -> Callable[P, T]: ...

    @overload
    def __get__(self, client: _SendsLater, owner: type) -> Callable[P, Awaitable[T]]: ...

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...

    def __get__(self, client: _Sends | _SendsLater | None, owner: type) -> object:
        if client is None:
            return self
        send = client.send

        def method(*args: P.args, **kwargs: P.kwargs) -> object:
            return send(self._make(*args, **kwargs))

        method.__doc__ = self.__doc__
        return method


class Operations:
    """The methods that both clients have."""

    models = Operation(question_calls.models)
    query = Operation(question_calls.query)
    statements = Operation(question_calls.statements)
    search = Operation(question_calls.search)
    brief = Operation(question_calls.brief)
    chat = Operation(question_calls.chat)

    upload = Operation(document_calls.upload)
    ingest = Operation(document_calls.ingest)
    list_documents = Operation(document_calls.list_documents)
    get_document = Operation(document_calls.get_document)
    get_text = Operation(document_calls.get_text)
    list_passages = Operation(document_calls.list_passages)
    replace_passages = Operation(document_calls.replace_passages)
    change_tags = Operation(document_calls.change_tags)
    delete_documents = Operation(document_calls.delete_documents)

    list_jobs = Operation(job_calls.list_jobs)
    get_job = Operation(job_calls.get_job)
    cancel_job = Operation(job_calls.cancel_job)
    retry_job = Operation(job_calls.retry_job)

    list_entities = Operation(graph_calls.list_entities)
    get_entity = Operation(graph_calls.get_entity)
    list_relations = Operation(graph_calls.list_relations)
    explore_neighbourhood = Operation(graph_calls.explore_neighbourhood)
    merge_entities = Operation(graph_calls.merge_entities)
    list_merges = Operation(graph_calls.list_merges)
    undo_merge = Operation(graph_calls.undo_merge)
    list_merge_proposals = Operation(graph_calls.list_merge_proposals)
    confirm_merge_proposal = Operation(graph_calls.confirm_merge_proposal)
    reject_merge_proposal = Operation(graph_calls.reject_merge_proposal)
    split_entity = Operation(graph_calls.split_entity)
    list_splits = Operation(graph_calls.list_splits)
    undo_split = Operation(graph_calls.undo_split)

    create_entity = Operation(edit_calls.create_entity)
    edit_entity = Operation(edit_calls.edit_entity)
    delete_entities = Operation(edit_calls.delete_entities)
    restore_entity = Operation(edit_calls.restore_entity)
    relate_entities = Operation(edit_calls.relate_entities)
    delete_relations = Operation(edit_calls.delete_relations)

    list_links = Operation(link_calls.list_links)
    get_link = Operation(link_calls.get_link)
    propose_links = Operation(link_calls.propose_links)
    add_link = Operation(link_calls.add_link)
    confirm_link = Operation(link_calls.confirm_link)
    reject_link = Operation(link_calls.reject_link)
    remove_link = Operation(link_calls.remove_link)

    list_sources = Operation(source_calls.list_sources)
    get_source = Operation(source_calls.get_source)
    add_source = Operation(source_calls.add_source)
    change_source = Operation(source_calls.change_source)
    sync_source = Operation(source_calls.sync_source)
    pause_source = Operation(source_calls.pause_source)
    resume_source = Operation(source_calls.resume_source)
    retry_source = Operation(source_calls.retry_source)
    remove_source = Operation(source_calls.remove_source)

    give_feedback = Operation(feedback_calls.give_feedback)
    list_feedback = Operation(feedback_calls.list_feedback)
    begin_session = Operation(feedback_calls.begin_session)
    end_session = Operation(feedback_calls.end_session)
    list_sessions = Operation(feedback_calls.list_sessions)
    list_queries = Operation(feedback_calls.list_queries)
    sum_up_queries = Operation(feedback_calls.sum_up_queries)
