"""The methods of both clients, made of the same calls."""

import lightwell.entrypoints.client.document_calls as document_calls
import lightwell.entrypoints.client.push_calls as push_calls
import lightwell.entrypoints.client.session_calls as session_calls
import lightwell.entrypoints.operations.analytics as analytics
import lightwell.entrypoints.operations.briefs as briefs
import lightwell.entrypoints.operations.conversations as conversations
import lightwell.entrypoints.operations.corrections as corrections
import lightwell.entrypoints.operations.documents as documents
import lightwell.entrypoints.operations.embeddings as embeddings
import lightwell.entrypoints.operations.graph as graph
import lightwell.entrypoints.operations.jobs as jobs
import lightwell.entrypoints.operations.links as links
import lightwell.entrypoints.operations.names as names
import lightwell.entrypoints.operations.questions as questions
import lightwell.entrypoints.operations.reading as reading
import lightwell.entrypoints.operations.searches as searches
import lightwell.entrypoints.operations.sources as sources
from lightwell.entrypoints.operations.calls import Method


class Operations:
    """The methods that both clients have."""

    me = Method(session_calls.me)

    query = questions.answer_question
    statements = questions.list_statements
    suggestions = questions.suggest_questions
    search = searches.search_passages
    keywords = searches.extract_keywords
    brief = briefs.brief_entity
    candidates = briefs.list_candidates
    chat = conversations.answer_message
    list_conversations = conversations.list_conversations
    get_conversation = conversations.get_conversation
    list_turns = conversations.list_turns
    rename_conversation = conversations.rename_conversation
    delete_conversation = conversations.delete_conversation

    upload = Method(document_calls.upload)
    ingest = Method(document_calls.ingest)
    list_documents = documents.list_documents
    summarize_documents = documents.summarize_documents
    get_document = documents.get_document
    get_text = documents.get_text
    get_original = Method(document_calls.get_original)
    view_document = reading.view_document
    show_audience = reading.show_audience
    list_passages = documents.list_passages
    replace_passages = documents.replace_passages
    change_access = documents.change_access
    preview_access = documents.preview_access
    preview_deletion = documents.preview_deletion
    delete_document = documents.delete_document
    delete_documents = documents.delete_documents

    list_jobs = jobs.list_jobs
    get_job = jobs.get_job
    cancel_job = jobs.cancel_job
    retry_job = jobs.retry_job

    list_entities = graph.list_entities
    get_entity = graph.get_entity
    list_relations = graph.list_relations
    explore_neighbourhood = graph.explore_neighbourhood
    find_names = names.find_names
    get_map = names.get_map
    get_name_profile = names.get_name_profile
    find_path = names.find_path
    merge_entities = corrections.merge_entities
    list_merges = corrections.list_merges
    undo_merge = corrections.undo_merge
    list_merge_proposals = corrections.list_merge_proposals
    confirm_merge_proposal = corrections.confirm_merge_proposal
    reject_merge_proposal = corrections.reject_merge_proposal
    reopen_merge_proposal = corrections.reopen_merge_proposal
    list_decisions = corrections.list_decisions
    split_entity = corrections.split_entity
    list_splits = corrections.list_splits
    undo_split = corrections.undo_split

    create_entity = corrections.create_entity
    edit_entity = corrections.edit_entity
    delete_entity = corrections.delete_entity
    delete_entities = corrections.delete_entities
    restore_entity = corrections.restore_entity
    relate_entities = corrections.relate_entities
    delete_relations = corrections.delete_relations

    list_links = links.list_links
    get_link = links.get_link
    propose_links = links.propose_links
    add_link = links.add_link
    confirm_link = links.confirm_link
    reject_link = links.reject_link
    remove_link = links.remove_link

    push_file = Method(push_calls.push_file)
    list_sources = sources.list_sources
    get_source = sources.get_source
    add_source = sources.add_source
    test_source = sources.test_source
    change_source = sources.change_source
    sync_source = sources.sync_source
    pause_source = sources.pause_source
    resume_source = sources.resume_source
    retry_source = sources.retry_source
    remove_source = sources.remove_source

    show_embeddings = embeddings.show_spaces
    estimate_embedding_change = embeddings.estimate_change
    start_embedding_change = embeddings.start_change
    cancel_embedding_change = embeddings.cancel_change

    give_feedback = analytics.give_feedback
    list_feedback = analytics.list_feedback
    begin_session = analytics.begin_session
    end_session = analytics.end_session
    get_session = analytics.get_session
    list_sessions = analytics.list_sessions
    list_queries = analytics.list_queries
    get_query = analytics.get_query
    sum_up_queries = analytics.sum_up_queries
    list_project_sessions = analytics.list_project_sessions
    sum_up_project = analytics.sum_up_project
    list_usage_days = analytics.list_usage_days
