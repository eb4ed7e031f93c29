"""Model servers that run on this machine: found at their well-known ports, and tried with one question.

Only addresses of a fixed list are asked, and all are on the loopback interface: what a caller names is never connected to unless it
is one of them, except by `list_models`, for the person who names it at a command line. No redirect is followed and no proxy used.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass

import httpx
from pydantic import BaseModel, ValidationError

from lightwell.domain.errors import Invalid, ModelFailed, ModelKeyRefused

QUESTION = "Answer in one short sentence: why does a valve leak?"

_FIND_SECONDS, _LIST_SECONDS, _TRY_SECONDS = 2.0, 20.0, 90.0
_MOST_BYTES = 1_000_000
_MOST_MODELS = 100
_LONGEST_NAME, _LONGEST_ANSWER = 200, 1000
_MAX_TOKENS = 400
_OF_EMBEDDINGS = ("embed", "bge", "e5-", "gte-", "minilm")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a server of models listens by default; `url` is what LIGHTWELL_CHAT_URL takes."""

    server: str
    url: str


PLACES = (
    Place(server="Ollama", url="http://127.0.0.1:11434/v1"),
    Place(server="LM Studio", url="http://127.0.0.1:1234/v1"),
    Place(server="llama.cpp", url="http://127.0.0.1:8080/v1"),
    Place(server="vLLM", url="http://127.0.0.1:8000/v1"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalModels:
    """What a server offers: names of models that write, and of those that only embed."""

    place: Place
    writing: tuple[str, ...]
    embedding: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a model said, and after how long."""

    text: str
    milliseconds: int


class _Model(BaseModel):
    id: str


class _Models(BaseModel):
    data: list[_Model]


class _Message(BaseModel):
    content: str | None = None


class _Choice(BaseModel):
    message: _Message


class _Completion(BaseModel):
    choices: list[_Choice]


async def find_models(places: Sequence[Place] = PLACES) -> list[LocalModels]:
    """Return the servers that list models, in the order of `places`; one that asks for a key is none of them."""
    async with _client(_FIND_SECONDS) as client:
        answers = await asyncio.gather(*(_list_models(client, place) for place in places))
    return [models for models in answers if models is not None]


async def list_models(url: str, key: str = "") -> LocalModels:
    """Return what the server at a URL offers to a key; raise `ModelFailed`, `ModelKeyRefused` for a key that it refuses; neither contains the key."""
    place = Place(server=url, url=url)
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        async with _client(_LIST_SECONDS) as client:
            request = client.build_request("GET", f"{url}/models", headers=headers)
            return _models(place, await _read(request, client))
    except httpx.HTTPStatusError as error:
        status = error.response.status_code
        if status in (401, 403):
            raise ModelKeyRefused(f"{url}/models lists no models: it refuses the key") from None
        raise ModelFailed(f"{url}/models lists no models: it answers with {status}") from None
    except (httpx.HTTPError, httpx.InvalidURL, ValidationError, UnicodeError) as error:
        reason = f"no answer of such a server ({type(error).__name__})"
        raise ModelFailed(f"{url}/models lists no models: {reason}") from None


async def try_model(url: str, model: str, places: Sequence[Place] = PLACES) -> Reply:
    """Ask a model one short question; raise `Invalid` for an address that is not one of `places`, and `ModelFailed`."""
    if url not in [place.url for place in places]:
        raise Invalid("Only a server that was found on this machine can be tried")
    began = time.monotonic()
    body = {
        "model": model,
        "messages": [{"role": "user", "content": QUESTION}],
        "max_tokens": _MAX_TOKENS,
    }
    try:
        async with _client(_TRY_SECONDS) as client:
            content = await _read(
                client.build_request("POST", f"{url}/chat/completions", json=body), client
            )
        completion = _Completion.model_validate_json(content)
    except (httpx.HTTPError, ValidationError) as error:
        raise ModelFailed(
            f"{model} at {url} gave no answer ({type(error).__name__}); look into that server's own log"
        ) from error
    text = next((choice.message.content or "" for choice in completion.choices), "").strip()
    if not text:
        raise ModelFailed(f"{model} at {url} answered with an empty text; try another model")
    return Reply(text=text[:_LONGEST_ANSWER], milliseconds=round(1000 * (time.monotonic() - began)))


def _client(seconds: float) -> httpx.AsyncClient:
    return httpx.AsyncClient(timeout=seconds, follow_redirects=False, trust_env=False)


async def _list_models(client: httpx.AsyncClient, place: Place) -> LocalModels | None:
    try:
        return _models(
            place, await _read(client.build_request("GET", f"{place.url}/models"), client)
        )
    except (httpx.HTTPError, ValidationError):
        return None


def _models(place: Place, content: bytes) -> LocalModels:
    """Return the models of a list with names that can be shown; raise `ValidationError` where it is none."""
    listed = _Models.model_validate_json(content).data
    names = [model.id for model in listed if model.id.isprintable()]
    names = [name for name in names if 0 < len(name) <= _LONGEST_NAME][:_MOST_MODELS]
    embedding = tuple(
        name for name in names if any(word in name.lower() for word in _OF_EMBEDDINGS)
    )
    writing = tuple(name for name in names if name not in embedding)
    return LocalModels(place=place, writing=writing, embedding=embedding)


async def _read(request: httpx.Request, client: httpx.AsyncClient) -> bytes:
    """Return the body of a reply of 200, cut at a size that no list of models has; it comes within the client's time as a whole."""
    try:
        async with asyncio.timeout(client.timeout.read):
            return await _read_all(request, client)
    except TimeoutError:
        raise httpx.ReadTimeout("too slow", request=request) from None


async def _read_all(request: httpx.Request, client: httpx.AsyncClient) -> bytes:
    content = bytearray()
    response = await client.send(request, stream=True)
    try:
        if not response.is_success:
            raise httpx.HTTPStatusError("no success", request=request, response=response)
        async for piece in response.aiter_bytes():
            content += piece
            if len(content) > _MOST_BYTES:
                break
    finally:
        await response.aclose()
    return bytes(content)
