"""A stand-in for Telegram: its people, chats and limits (`state.py`), and the Bot API over HTTP (`server.py`)."""
