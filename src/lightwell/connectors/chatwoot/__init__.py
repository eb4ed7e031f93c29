"""Chatwoot, customer support: conversations, contacts, companies, help-centre articles (docs/connectors/chatwoot.md)."""

from lightwell.connectors.chatwoot.opening import open_chatwoot

__all__ = ["open_chatwoot"]
