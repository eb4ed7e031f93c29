"""Slack, by slack-bolt: what it sends becomes updates, and messages are written as blocks.

Only what is addressed to the bot comes here: messages in its own chats, mentions, the command `/lightwell`, and presses of its buttons.
"""
