"""What everybody can ask of a bot: `/help` and `/status`."""

from lightwell.domain.scopes import Scope
from lightwell.entrypoints.channels.asker import Asker
from lightwell.entrypoints.channels.messages import Block, Kind, Message, Span, Style, text

_COMMANDS = (
    ("/brief NAME", "what there is about somebody or something"),
    ("/promises WORDS", "what was promised, with the sources"),
    ("/search WORDS", "passages, best first"),
    ("/new", "begin a new conversation"),
    ("/status", "who you are here, and how much you see"),
    ("/unlink", "disconnect this account"),
)
_CURATING = ("/links", "proposed links between systems, to confirm or reject")
_ADDING = "Send a file to add it; I ask first who may see it."

_HELP = "Ask me a question. I answer from the documents that you may see, and name them."


async def help_(asker: Asker, words: str) -> Message:
    """Say what one can ask for; `words` say nothing."""
    commands = [*_COMMANDS, *([_CURATING] if asker.allows(Scope.CURATE) else [])]
    items = (
        Block((Span(asker.chat.typed(name), Style.CODE), Span(f"  {meaning}")), Kind.ITEM)
        for name, meaning in commands
    )
    adding = (text(_ADDING),) if asker.allows(Scope.INGEST) else ()
    return Message(blocks=(text(_HELP), *items, *adding))


async def status(asker: Asker, words: str) -> Message:
    """Say who asks here, and how much that person sees; `words` say nothing."""
    person = asker.person
    name = " ".join(person.display_name.split()) or person.email or "a person without a name"
    status = await asker.knowledge_base.documents.status(asker.reader)
    count = sum(status.documents.values())
    seen = f"You see {count:,} {'document' if count == 1 else 'documents'}"
    waiting = f"; {status.open_jobs:,} are being read" if status.open_jobs else ""
    return Message(
        blocks=(
            Block((Span("You are "), Span(name, Style.BOLD), Span(" here."))),
            text(f"{seen}{waiting}."),
        )
    )
