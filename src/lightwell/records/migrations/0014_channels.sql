-- Chats of Telegram and Slack (entrypoints/channels).

-- What accounts did and what becomes of it. An update is stored before the platform is told that it came, and its key stays for a while
-- after it was answered, so that none is answered twice. What it says is deleted when it is answered. What one
-- account does in one chat is answered in order.
CREATE TABLE channel_updates (
    update_id   uuid PRIMARY KEY,
    project_id  uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    platform    text NOT NULL,
    key         text NOT NULL,
    chat        text NOT NULL,
    account     text NOT NULL,
    content     jsonb,                       -- null once it is answered
    sent        text NOT NULL DEFAULT '',    -- the message that the answer is written into
    is_said     boolean NOT NULL DEFAULT false, -- what cannot be written into a message was said, or was about to be
    attempts    integer NOT NULL DEFAULT 0,  -- how often it was taken: whoever took it last may write
    received_at timestamptz NOT NULL DEFAULT now(),
    leased_until timestamptz,
    answered_at timestamptz,
    UNIQUE (project_id, platform, key)
);
CREATE INDEX channel_updates_waiting ON channel_updates (project_id, platform, chat, account, update_id) WHERE answered_at IS NULL;

-- The bots that receive, and when each said so last: the server that has the bot's lock says it every minute.
CREATE TABLE channel_bots (
    project_id  uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    platform    text NOT NULL,
    name        text NOT NULL,
    workspace   text NOT NULL,
    seen_at     timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (project_id, platform)
);

-- Codes that link an account of a platform to a person, once. A code ends with the session or the key that made it. Of the code itself
-- there is the SHA-256 alone: it is 16 random bytes.
CREATE TABLE channel_codes (
    code_hash   bytea PRIMARY KEY,
    project_id  uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    person_id   uuid NOT NULL REFERENCES people ON DELETE CASCADE,
    platform    text NOT NULL,
    session_id  uuid REFERENCES web_sessions ON DELETE CASCADE,
    key_id      uuid REFERENCES api_keys ON DELETE CASCADE,
    expires_at  timestamptz NOT NULL
);
CREATE INDEX channel_codes_person ON channel_codes (person_id);
CREATE INDEX channel_codes_session ON channel_codes (session_id) WHERE session_id IS NOT NULL;
CREATE INDEX channel_codes_key ON channel_codes (key_id) WHERE key_id IS NOT NULL;

-- Accounts that people linked themselves: to whom, and what the account calls itself (not after it was unlinked). Whose account is whose
-- stands in person_external_ids. An account that is here and not there was unlinked, so no e-mail address links it again.
CREATE TABLE channel_accounts (
    project_id  uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    platform    text NOT NULL,
    account     text NOT NULL,
    person_id   uuid NOT NULL REFERENCES people ON DELETE CASCADE,
    name        text NOT NULL,
    PRIMARY KEY (project_id, platform, account)
);
CREATE INDEX channel_accounts_person ON channel_accounts (person_id);

-- Buttons: what a press does, whose they are, and in which chat. `class_ids`: what the reader saw for whom they were made.
CREATE TABLE channel_buttons (
    button_id   uuid PRIMARY KEY,
    project_id  uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    platform    text NOT NULL,
    account     text NOT NULL,
    chat        text NOT NULL,
    action      jsonb NOT NULL,
    class_ids   integer[] NOT NULL,
    expires_at  timestamptz NOT NULL
);
CREATE INDEX channel_buttons_account ON channel_buttons (project_id, platform, account);

-- The conversation that an account has in a chat, and what it picked there: names and the references of the entities that are meant,
-- as long as nothing is erased that the reader saw then: `class_ids`.
CREATE TABLE channel_chats (
    project_id      uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    platform        text NOT NULL,
    chat            text NOT NULL,
    account         text NOT NULL,
    conversation_id uuid REFERENCES conversations ON DELETE SET NULL,
    picks           jsonb NOT NULL DEFAULT '{}',
    class_ids       integer[] NOT NULL DEFAULT '{}',
    PRIMARY KEY (project_id, platform, chat, account)
);
CREATE INDEX channel_chats_conversation ON channel_chats (conversation_id) WHERE conversation_id IS NOT NULL;

-- What an account picked and can press goes with its link to a person, however that ends.
CREATE FUNCTION forget_channel_account() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM channel_buttons
    WHERE project_id = OLD.project_id AND platform = OLD.system AND account = OLD.external_id;
    DELETE FROM channel_chats
    WHERE project_id = OLD.project_id AND platform = OLD.system AND account = OLD.external_id;
    RETURN NULL;
END $$;
CREATE TRIGGER forget_channel_account AFTER DELETE ON person_external_ids
    FOR EACH ROW EXECUTE FUNCTION forget_channel_account();

-- Groups to which answers may be posted whose sources everybody with these access tags sees.
CREATE TABLE channel_groups (
    project_id  uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
    platform    text NOT NULL,
    chat        text NOT NULL,
    acl_tags    text[] NOT NULL,
    bound_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (project_id, platform, chat)
);
