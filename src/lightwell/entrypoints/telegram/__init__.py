"""Telegram: what its Bot API sends becomes an `Update`, and a `Message` becomes what it takes. aiogram has its types and its calls.

- `reading.py`: who says what to the bot, and what nobody says to it.
- `writing.py`, `formatting.py`: text with entities, buttons, pictures; no text is ever parsed as markup.
- `calls.py`, `session.py`, `pace.py`: one call, at Telegram's pace; its failures without the token, which is in every address.
- `channel.py`: the `Channel`; `receiving.py`: long polling and the webhook; `opening.py`: from the settings.
"""
