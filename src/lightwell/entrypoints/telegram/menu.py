"""The commands that Telegram offers while somebody types. What they do is the core's."""

from aiogram.types import BotCommand

_COMMANDS = {
    "brief": "What there is about somebody or something",
    "promises": "What was promised, with the sources",
    "search": "Passages, best first",
    "new": "Begin a new conversation",
    "status": "Who you are here, and how much you see",
    "unlink": "Disconnect this account",
    "help": "How to ask",
}
_IN_GROUPS = {"ask": "Ask; the bot alone sees it, and you alone the answer"}


def private_menu() -> list[BotCommand]:
    """Return what is offered in a private chat."""
    return [
        BotCommand(command=name, description=description) for name, description in _COMMANDS.items()
    ]


def group_menu() -> list[BotCommand]:
    """Return what is offered in a group: the bot alone sees these commands, where the person's app can do so."""
    return [
        BotCommand(command=name, description=description, is_ephemeral=True)
        for name, description in {**_IN_GROUPS, **_COMMANDS}.items()
    ]
