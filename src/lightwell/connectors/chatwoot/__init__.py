"""Chatwoot, customer support: conversations, contacts, companies, help-centre articles (docs/connectors/chatwoot.md)."""
