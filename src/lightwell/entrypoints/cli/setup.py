"""`setup`: finds a chat model, tries it with one question, and writes it into `.env`."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer
from pydantic import SecretStr
from rich.text import Text

from lightwell.domain.errors import Invalid, ModelFailed, ModelKeyRefused
from lightwell.entrypoints.cli.console import clean
from lightwell.entrypoints.cli.errors import Exit
from lightwell.entrypoints.cli.execution import Report
from lightwell.entrypoints.cli.registration import command, single_command
from lightwell.entrypoints.cli.settings_file import write_settings
from lightwell.entrypoints.cli.store import settings

if TYPE_CHECKING:
    from lightwell.wiring.chat_trial import Trial

setup = single_command()

_NOTHING = """No chat model was found on this machine (Ollama at 11434, LM Studio at 1234, llama.cpp at 8080, vLLM at 8000), and no key in OPENAI_API_KEY.
Without one, Lightwell answers with quotes from your documents, which needs nothing. To attach one, start its server, or name it: lightwell setup --url URL --model NAME.
docs/models.md says which size suffices."""

Url = Annotated[
    str,
    typer.Option("--url", metavar="URL", help="The endpoint, such as http://localhost:11434/v1."),
]
Model = Annotated[
    str, typer.Option("--model", metavar="NAME", help="The model, as its endpoint names it.")
]
Yes = Annotated[
    bool,
    typer.Option(
        "--yes",
        help="Ask nothing: take the first model that is found, and write it if its answer is right.",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Server:
    """An endpoint that may be chosen; `models` is empty where it was not asked yet."""

    name: str
    url: str
    key: SecretStr
    models: tuple[str, ...] = ()


@command(
    setup,
    "setup",
    "lightwell setup",
    "lightwell setup --url http://localhost:11434/v1 --model qwen2.5:7b --yes",
    "OPENAI_API_KEY=sk-... lightwell setup --url https://api.openai.com/v1",
)
async def set_up(
    *, url: Url = "", model: Model = "", yes: Yes = False, as_json: bool = False
) -> Report:
    """Find a chat model, try it with one question, and write it into `.env` in the current folder.

    Looked for are Ollama, LM Studio, llama.cpp and vLLM on this machine, and a key in OPENAI_API_KEY. The key for --url is LIGHTWELL_CHAT_API_KEY
    where LIGHTWELL_CHAT_URL names no other, that for OpenAI OPENAI_API_KEY; else it is asked for where the endpoint wants one. The model gets a passage of three sentences and no document
    of yours. Other lines of `.env` stay, and only you may read it afterwards. Exit code 1: nothing was written.
    """
    can_ask = sys.stdin.isatty() and not yes and not as_json
    servers = [_named(url)] if url else await _find()
    if not servers:
        return _unchanged({"found": []}, _NOTHING)
    server = _choose_server(servers, can_ask=can_ask)
    server = await _with_models(server, model, can_ask=can_ask)
    name = model or _choose_model(server, can_ask=can_ask, yes=yes)
    typer.echo(f"Trying {clean(name)} at {clean(server.url)} ...", err=True)
    trial = await _try(server, name)
    verdict = _verdict(trial)
    document = {
        "url": server.url,
        "model": name,
        "right": trial.is_right,
        "seconds": round(trial.seconds, 1),
        "sentences": list(trial.sentences),
        "removed": trial.removed,
    }
    if not trial.is_right and not (can_ask and typer.confirm(f"{verdict} Use it all the same?")):
        return _unchanged(document, f"{verdict} Nothing was written.")
    path = write_settings(_variables(server, name), Path.cwd())
    lines = [verdict, f"Written to {path}: LIGHTWELL_CHAT_URL and LIGHTWELL_CHAT_MODEL."]
    if (settings().chat.url, settings().chat.model) != (server.url, name):
        lines.append(
            "The environment sets LIGHTWELL_CHAT_URL or LIGHTWELL_CHAT_MODEL, too, and takes precedence."
        )
    lines.append('Ask now: lightwell ask "...". A server that runs takes it at its next start.')
    return Report(document={**document, "file": str(path)}, text=Text(clean("\n".join(lines))))


def _named(url: str) -> _Server:
    """Return the endpoint that a person names, with the key that is meant for it and for no other."""
    plain = url.rstrip("/").removesuffix("/chat/completions")
    parts = urlsplit(plain)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Invalid("--url takes the address of an endpoint, such as http://localhost:11434/v1")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise Invalid("--url takes an address without a key; set LIGHTWELL_CHAT_API_KEY")
    return _Server(name=plain, url=plain, key=_key_for(plain))


def _key_for(url: str) -> SecretStr:
    """Return the key that is meant for an address and for no other; "" for none."""
    from lightwell.settings import openai_login

    chat, (openai_url, openai_key) = settings().chat, openai_login()
    if chat.api_key.get_secret_value() != "none" and (chat.url or url).rstrip("/") == url:
        return chat.api_key
    return openai_key if url == openai_url else SecretStr("")


async def _find() -> list[_Server]:
    """Return the servers on this machine that list models, and OpenAI where there is a key, which is not asked before it is chosen."""
    from lightwell.models import local_endpoints
    from lightwell.settings import openai_login

    servers = [
        _Server(
            name=models.place.server,
            url=models.place.url,
            key=SecretStr(""),
            models=models.writing,
        )
        for models in await local_endpoints.find_models(local_endpoints.PLACES)
        if models.writing
    ]
    openai_url, openai_key = openai_login()
    if openai_key.get_secret_value():
        servers.append(_named(openai_url))
    return servers


def _choose_server(servers: Sequence[_Server], *, can_ask: bool) -> _Server:
    if len(servers) == 1 or not can_ask:
        return servers[0]
    lines = [f"{server.name}  {', '.join(server.models[:5])}" for server in servers]
    return servers[_choose("Which server", lines)]


async def _with_models(server: _Server, model: str, *, can_ask: bool) -> _Server:
    """Return the server with what it lists; a key is asked for where it refuses. A model that is named needs no list."""
    from lightwell.models.local_endpoints import list_models

    if server.models or (model and server.key.get_secret_value()):
        return server
    try:
        listed = await list_models(server.url, server.key.get_secret_value())
    except ModelFailed as error:
        if can_ask and isinstance(error, ModelKeyRefused):
            key = SecretStr(typer.prompt("API key", hide_input=True).strip())
            server = replace(server, key=key)
            listed = await list_models(server.url, server.key.get_secret_value())
        elif model:
            return server
        else:
            raise
    return replace(server, models=listed.writing)


def _choose_model(server: _Server, *, can_ask: bool, yes: bool) -> str:
    if not server.models:
        raise Invalid(f"{server.url} lists no model that writes: name one with --model")
    if len(server.models) == 1 or yes:
        return server.models[0]
    if not can_ask:
        names = ", ".join(server.models[:20])
        raise Invalid(f"{server.url} has several models: name one with --model ({names})")
    return server.models[_choose("Which model", server.models)]


def _choose(question: str, lines: Sequence[str]) -> int:
    """Return the place of the line whose number the person types."""
    for number, line in enumerate(lines, 1):
        typer.echo(clean(f"{number}  {line}"))
    number = 0
    while not 1 <= number <= len(lines):
        number = int(typer.prompt(question, type=int, default=1))
    return number - 1


async def _try(server: _Server, model: str) -> "Trial":
    from lightwell.settings import ChatSettings
    from lightwell.wiring.chat_trial import try_chat_model

    key = server.key if server.key.get_secret_value() else SecretStr("none")
    chosen = ChatSettings(url=server.url, api_key=key, model=model)
    return await try_chat_model(settings().model_copy(update={"chat": chosen}))


def _verdict(trial: "Trial") -> str:
    """Return how it went, plainly."""
    seconds = f"{trial.seconds:.1f} s"
    if trial.is_right:
        return (
            f"It answered in {seconds} and quoted the passage word for word: {trial.sentences[0]}"
        )
    if trial.sentences:
        return f"It answered in {seconds}, but not what was asked: {trial.sentences[0]}"
    if trial.is_declined:
        return f"It said in {seconds} that the passage does not answer, although it does."
    return (
        f"It wrote something in {seconds} that it did not quote from the passage word for word, so nothing of it would be shown;"
        " your answers would be quotes, as without it. A larger model does better."
    )


def _variables(server: _Server, model: str) -> dict[str, str]:
    return {
        "LIGHTWELL_CHAT_URL": server.url,
        "LIGHTWELL_CHAT_MODEL": model,
        "LIGHTWELL_CHAT_API_KEY": server.key.get_secret_value(),
    }


def _unchanged(document: Mapping[str, object], text: str) -> Report:
    return Report(document=document, text=Text(clean(text)), code=Exit.INCOMPLETE)
