"""Slack, by slack-bolt."""
