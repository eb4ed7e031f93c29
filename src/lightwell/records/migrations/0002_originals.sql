-- Originals: the bytes of documents as their sources delivered them.

-- A job reads the original that has its id. It is staged until the job publishes the document, beside the one
-- of the version before. `place`: where the bytes are once the job has read them: in the parts here ('store',
-- what was uploaded or fetched), in the folder of the document's URL ('folder', as long as the file there has
-- this hash), or nowhere ('none', what a source tells as text; its row goes then). `page_count`: pages of a PDF.
CREATE TABLE document_originals (
    original_id  uuid PRIMARY KEY,
    document_id  uuid NOT NULL REFERENCES source_documents ON DELETE CASCADE,
    is_published boolean NOT NULL DEFAULT false,
    place        text NOT NULL CHECK (place IN ('store', 'folder', 'none')),
    byte_count   bigint NOT NULL,
    sha256       bytea NOT NULL,
    page_count   integer NOT NULL DEFAULT 0,
    UNIQUE (document_id, is_published)
);

-- The parts are read one by one, so that no process holds a whole file for a reader.
CREATE TABLE original_parts (
    original_id uuid NOT NULL REFERENCES document_originals ON DELETE CASCADE,
    part        integer NOT NULL CHECK (part >= 0),
    content     bytea STORAGE EXTERNAL NOT NULL,
    PRIMARY KEY (original_id, part)
);
-- The planner would keep samples of short files.
ALTER TABLE original_parts ALTER COLUMN content SET STATISTICS 0;

INSERT INTO document_originals (original_id, document_id, place, byte_count, sha256)
SELECT job.id, job.document_id, CASE WHEN source_system IN ('upload', 'web') THEN 'store'
                                        WHEN source_system = 'file' AND starts_with(source_url, 'file://') THEN 'folder'
                                        ELSE 'none' END,
       octet_length(upload), sha256(upload)
FROM ingestion_jobs AS job JOIN source_documents USING (document_id)
WHERE upload IS NOT NULL;
INSERT INTO original_parts (original_id, part, content)
SELECT id, 0, upload FROM ingestion_jobs WHERE octet_length(upload) > 0;
ALTER TABLE ingestion_jobs DROP COLUMN upload;
