-- The access tags that `--acl` gave to folders and files: those of the nearest folder at or above a file apply to it,
-- where the file and its settings name none. An empty list is nobody.
CREATE TABLE folder_tags (
    project_id uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    folder_url text NOT NULL,
    acl_tags   text[] NOT NULL,
    PRIMARY KEY (project_id, folder_url)
);

-- The tag of the person whose own store it is: who asks on the command line where no tag is named; '' for none.
ALTER TABLE projects ADD COLUMN owner_tag text NOT NULL DEFAULT '';
