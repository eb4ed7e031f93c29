"""Mailboxes over IMAP: threads of messages, and the files that came with them."""
