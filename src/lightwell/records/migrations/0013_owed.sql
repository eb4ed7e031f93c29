-- What is owed is asked of the open items of business systems that have a deadline, or words of our own people.
CREATE INDEX source_documents_owed ON source_documents (project_id)
    WHERE item_ref <> '' AND (metadata ? 'due' OR metadata ? 'own_authors') AND NOT is_deleted
      AND coalesce(metadata ->> 'work_state', '') <> 'closed';
