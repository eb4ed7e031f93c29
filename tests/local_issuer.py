"""An OpenID Connect issuer on this machine, with real keys, which it can rotate."""

import json
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

AUDIENCE = "lightwell"
RSA_KEYS = [rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(2)]
EC_KEY = ec.generate_private_key(ec.SECP256R1())
PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey


def public_jwk(key: PrivateKey, key_id: str) -> dict[str, Any]:
    """Return the public half as an issuer publishes it."""
    if isinstance(key, rsa.RSAPrivateKey):
        jwk = RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)
    else:
        jwk = ECAlgorithm.to_jwk(key.public_key(), as_dict=True)
    return {**jwk, "kid": key_id, "use": "sig"}


@dataclass
class LocalIssuer:
    """The issuer; `asked` are the paths that were requested. `grant` replies to the form that is sent to the token endpoint."""

    url: str = ""
    keys: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    named: str = ""
    asked: list[str] = field(default_factory=list[str])
    grant: Callable[[Mapping[str, str], str], object | None] = lambda _form, _authorization: None

    def reply(self, path: str) -> object:
        self.asked.append(path)
        if path.endswith("openid-configuration"):
            return {
                "issuer": self.named or self.url,
                "jwks_uri": f"{self.url}/keys",
                "authorization_endpoint": f"{self.url}/authorize",
                "token_endpoint": f"{self.url}/token",
            }
        return {"keys": self.keys}


@contextmanager
def run_issuer() -> Generator[LocalIssuer]:
    """Serve an issuer until the end."""
    issuer = LocalIssuer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps(issuer.reply(self.path)).encode()
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            form = dict(parse_qsl(self.rfile.read(length).decode()))
            reply = issuer.grant(form, self.headers.get("Authorization", ""))
            self.send_response(400 if reply is None else 200)
            self.end_headers()
            self.wfile.write(json.dumps(reply).encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        issuer.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield issuer
        finally:
            server.shutdown()
            thread.join()


def token(
    issuer: LocalIssuer,
    key: Any = RSA_KEYS[0],
    algorithm: str = "RS256",
    *,
    headers: dict[str, Any] | None = None,
    **claims: Any,
) -> str:
    now = datetime.now(UTC)
    said = {
        "iss": issuer.url,
        "aud": AUDIENCE,
        "sub": "ada",
        "exp": now + timedelta(minutes=5),
        **claims,
    }
    said = {name: value for name, value in said.items() if value is not None}
    return jwt.encode(said, key, algorithm, headers={"kid": "one"} if headers is None else headers)
