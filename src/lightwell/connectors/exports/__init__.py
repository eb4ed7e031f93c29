"""Exports of wikis, read from their archives: Notion and Confluence."""
