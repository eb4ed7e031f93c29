"""A fake model server on the loopback interface, with failures that a test scripts."""

import asyncio
import base64
import json
import re
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import cast

from lightwell.ports import Embedder
from lightwell.testing.models import HashEmbedder
from lightwell.text.terms import terms
from lightwell.text.tokens import token_count

Body = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """How the server handles one request. `status` other than 200 refuses it with `error` in OpenAI's form.

    `latency` in seconds comes before everything, `word_delay` before each word of a stream; `raw_body` is sent instead
    of a proper body; `closes_connection` does so without a word; `sends_half` sends only the first half of
    a stream or of a list of vectors.
    """

    latency: float = 0.0
    word_delay: float = 0.0
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    error: Mapping[str, str] = field(default_factory=dict[str, str])
    raw_body: bytes | None = None
    closes_connection: bool = False
    sends_half: bool = False
    finish_reason: str = "stop"
    refusal: str | None = None


NORMAL = Behaviour()


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request that the server received; header names are lower case."""

    path: str
    headers: Mapping[str, str]
    body: Body


class FakeEndpoint:
    """Speaks `/v1/chat/completions` (streams too), `/v1/embeddings`, and every form of `/rerank`.

    The first requests behave as `script` says, in order, all others like `behaviour`. `declined_parameters` are those
    that it answers with 400. Vectors are those of `embedder`, a `HashEmbedder` by default, and not of length one; a passage's score is the share of the question's
    terms in it, turned by `score_of`.
    """

    def __init__(
        self,
        reply: Callable[[Body], str] = lambda body: "understood",
        *,
        script: Sequence[Behaviour] = (),
        behaviour: Behaviour = NORMAL,
        declined_parameters: frozenset[str] = frozenset(),
        embedder: Embedder | None = None,
        score_of: Callable[[float], float] = lambda share: share,
    ) -> None:
        self.models: tuple[str, ...] = ()
        self.requests: list[Request] = []
        self.max_at_once = 0
        self._reply = reply
        self._script = list(script)
        self._behaves = behaviour
        self._declined_parameters = declined_parameters
        self._embedder = embedder or HashEmbedder(64)
        self._score_of = score_of
        self._lock = Lock()
        self._at_once = 0
        self.url = ""

    @property
    def base_url(self) -> str:
        """The URL in the form that OpenAI's clients need; `url` is the one without `/v1`."""
        return f"{self.url}/v1"

    @contextmanager
    def running(self) -> "Generator[FakeEndpoint]":
        """Listen on a free port of the loopback until the block ends."""
        endpoint = self

        class Handler(_Handler):
            fake = endpoint

        with _Server(("127.0.0.1", 0), Handler) as server:
            self.url = f"http://127.0.0.1:{server.server_port}"
            serving = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
            serving.start()
            try:
                yield self
            finally:
                server.shutdown()
                serving.join()

    @contextmanager
    def accept(self, request: Request) -> Generator[Behaviour]:
        """Record the request, and return how to handle it."""
        with self._lock:
            self.requests.append(request)
            behaviour = self._script.pop(0) if self._script else self._behaves
            self._at_once += 1
            self.max_at_once = max(self.max_at_once, self._at_once)
        declined = sorted(self._declined_parameters & request.body.keys())
        try:
            yield _decline(declined[0]) if declined and behaviour == NORMAL else behaviour
        finally:
            with self._lock:
                self._at_once -= 1

    def expect(self, behaviour: Behaviour) -> None:
        """Handle so the next request that has no script yet."""
        with self._lock:
            self._script.append(behaviour)

    @property
    def in_progress(self) -> int:
        """The number of requests that are being handled now."""
        return self._at_once

    def answer(self, request: Request, behaviour: Behaviour) -> object:
        """Return the JSON of a successful reply."""
        body = request.body
        if request.path.endswith("/chat/completions"):
            return self._completion(body, behaviour)
        if request.path.endswith("/embeddings"):
            return self._vectors(body, behaviour)
        scores = self._scores(cast("str", body["query"]), body)
        if "texts" in body:
            return scores
        results = [{"index": score["index"], "relevance_score": score["score"]} for score in scores]
        return {"results": results}

    def reply_text(self, body: Body) -> str:
        return self._reply(body)

    def _completion(self, body: Body, behaviour: Behaviour) -> object:
        text = None if behaviour.refusal else self._reply(body)
        message = {"role": "assistant", "content": text, "refusal": behaviour.refusal}
        input_tokens, output_tokens = (
            token_count(json.dumps(body["messages"])),
            token_count(text or ""),
        )
        return {
            "id": "fake",
            "object": "chat.completion",
            "model": body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": behaviour.finish_reason}],
            "usage": {
                "prompt_tokens": input_tokens,
                "completion_tokens": output_tokens,
                "total_tokens": input_tokens + output_tokens,
            },
        }

    def _vectors(self, body: Body, behaviour: Behaviour) -> object:
        texts = cast("list[str]", body["input"])
        vectors = asyncio.run(self._embedder.embed_documents(texts)) * 3
        data = [
            {
                "index": index,
                "embedding": base64.b64encode(vector.astype("<f4").tobytes()).decode()
                if body.get("encoding_format") == "base64"
                else vector.tolist(),
            }
            for index, vector in enumerate(vectors)
        ]
        if behaviour.sends_half:
            data = data[: len(data) // 2]
        cost = sum(token_count(text) for text in texts)
        return {"data": data[::-1], "usage": {"prompt_tokens": cost, "total_tokens": cost}}

    def _scores(self, question: str, body: Body) -> list[dict[str, float]]:
        question_terms = set(terms(question))
        passages = cast("list[str]", body.get("texts") or body["documents"])
        shares = [
            len(question_terms & set(terms(passage))) / len(question_terms) for passage in passages
        ]
        scores = [
            {"index": index, "score": self._score_of(share)} for index, share in enumerate(shares)
        ]
        return sorted(scores, key=lambda request: -request["score"])


def _decline(option: str) -> Behaviour:
    complaint = {
        "message": f"Unsupported parameter: {option}",
        "param": option,
        "code": "unsupported_parameter",
    }
    return Behaviour(status=400, error=complaint)


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    request_queue_size = 1024  # with the library's 5, a burst of callers waits a second to connect


class _Handler(BaseHTTPRequestHandler):
    fake: FakeEndpoint
    protocol_version = "HTTP/1.1"  # connections are kept, as real endpoints do
    disable_nagle_algorithm = True
    timeout = 30

    def do_GET(self) -> None:
        """List the models that the server has; any other address is unknown."""
        is_list = self.path == "/v1/models"
        models = [{"id": name, "object": "model"} for name in self.fake.models]
        body = json.dumps({"object": "list", "data": models} if is_list else {})
        self._send(Behaviour(status=200 if is_list else 404), body.encode())

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length", "0"))
        request = Request(
            path=self.path,
            headers={name.lower(): value for name, value in self.headers.items()},
            body=cast("Body", json.loads(self.rfile.read(length))),
        )
        with self.fake.accept(request) as behaviour:
            time.sleep(behaviour.latency)
            try:
                self._answer(request, behaviour)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

    def _answer(self, request: Request, behaviour: Behaviour) -> None:
        if behaviour.closes_connection:
            self.close_connection = True
            return
        if behaviour.status != 200:
            error = {"error": {"type": "error", **behaviour.error}}
            self._send(behaviour, json.dumps(error).encode())
        elif behaviour.raw_body is not None:
            self._send(behaviour, behaviour.raw_body)
        elif request.body.get("stream"):
            self._stream(request, behaviour)
        else:
            self._send(behaviour, json.dumps(self.fake.answer(request, behaviour)).encode())

    def _stream(self, request: Request, behaviour: Behaviour) -> None:
        words = re.findall(r"\s*\S+", self.fake.reply_text(request.body))
        if behaviour.sends_half:
            words = words[: len(words) // 2]
        self.close_connection = True
        self._begin(behaviour, "text/event-stream", {"Connection": "close"})
        for word in words:
            time.sleep(behaviour.word_delay)
            self._event({"content": word, "refusal": behaviour.refusal}, None)
        if not behaviour.sends_half:
            self._event({}, behaviour.finish_reason)
            self.wfile.write(b"data: [DONE]\n\n")

    def _event(self, delta: Mapping[str, object], finish_reason: str | None) -> None:
        choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
        part = {"object": "chat.completion.chunk", "choices": [choice]}
        self.wfile.write(f"data: {json.dumps(part)}\n\n".encode())

    def _send(self, behaviour: Behaviour, body: bytes) -> None:
        self._begin(behaviour, "application/json", {"Content-Length": str(len(body))})
        self.wfile.write(body)

    def _begin(self, behaviour: Behaviour, kind: str, framing: Mapping[str, str]) -> None:
        self.send_response(behaviour.status)
        for name, value in {**framing, **behaviour.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: tests read `requests` instead."""
