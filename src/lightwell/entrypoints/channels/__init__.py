"""Chats of other platforms: a person asks there, and gets what that person may see.

One core and an adapter for each platform. An adapter turns what its platform sends into an `Update`, which is stored before it is acknowledged
(`records/channel_updates.py`); `conversation.py` answers updates, one chat at a time, as the person whose account sent them; what it says is a
`Message` (`messages.py`), which the adapter writes with the platform's own formats. No text of a document, a model or a person is ever parsed as markup of a platform.
"""
