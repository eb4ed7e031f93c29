"""Tokens of an issuer: a real issuer in this process, with real keys that it rotates."""

import asyncio
import base64
import hashlib
import hmac
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from lightwell.domain.api_keys import Scope
from lightwell.domain.directory import EMAIL, PersonName
from lightwell.domain.errors import Invalid, SourceFailed
from lightwell.domain.token_claims import OIDC, ClaimNames, read_claims
from lightwell.entrypoints.http.oidc import Issuer, TokenVerifier
from tests.local_issuer import (
    AUDIENCE,
    EC_KEY,
    RSA_KEYS,
    LocalIssuer,
    public_jwk,
    run_issuer,
    token,
)
from tests.patience import PATIENCE


@pytest.fixture(scope="module")
def running() -> Iterator[LocalIssuer]:
    with run_issuer() as issuer:
        yield issuer


@pytest.fixture
def issuer(running: LocalIssuer) -> LocalIssuer:
    running.keys = [public_jwk(RSA_KEYS[0], "one"), public_jwk(EC_KEY, "curve")]
    running.named, running.asked = "", []
    return running


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def verifier(issuer: LocalIssuer, clock: Clock) -> AsyncIterator[TokenVerifier]:
    async with httpx.AsyncClient(timeout=PATIENCE) as client:
        yield TokenVerifier(
            issuer=Issuer(
                url=issuer.url, audience=AUDIENCE, algorithms=frozenset({"RS256", "ES256"})
            ),
            client=client,
            clock=clock,
        )


async def test_tokens_of_the_issuer_are_accepted(
    issuer: LocalIssuer, verifier: TokenVerifier
) -> None:
    for good in (
        token(issuer),
        token(issuer, EC_KEY, "ES256", headers={"kid": "curve"}),
        token(issuer, headers={"typ": "at+jwt"}),
        token(issuer, aud=["other", AUDIENCE]),
    ):
        claims = await verifier.verify(good)
        assert claims is not None
        assert claims["sub"] == "ada"
    assert len(issuer.asked) == 2


async def test_tokens_that_are_not_for_this_server_or_not_valid_now_are_refused(
    issuer: LocalIssuer, verifier: TokenVerifier
) -> None:
    now = datetime.now(UTC)
    for bad in (
        token(issuer, exp=now - timedelta(minutes=2)),
        token(issuer, nbf=now + timedelta(minutes=2)),
        token(issuer, iss="https://other.example"),
        token(issuer, aud="other"),
        token(issuer, aud=None),
        token(issuer, exp=None),
        token(issuer, sub=None),
        token(issuer, RSA_KEYS[1]),
        token(issuer, headers={"kid": "curve"}),
        token(issuer, headers={"kid": "one", "typ": "logout+jwt"}),
        token(issuer, headers={"kid": "one", "crit": ["exp"]}),
        token(issuer, algorithm="RS512"),
        token(issuer)[:-8] + "AAAAAAAA",
        "a.b.c",
        "..",
        "x" * 20_000,
    ):
        assert await verifier.verify(bad) is None, bad


def unsigned(issuer: LocalIssuer, header: dict[str, Any]) -> str:
    claims = {"iss": issuer.url, "aud": AUDIENCE, "sub": "ada", "exp": 4102444800}
    parts = [
        base64.urlsafe_b64encode(json.dumps(each).encode()).rstrip(b"=").decode()
        for each in (header, claims)
    ]
    return ".".join([*parts, ""])


async def test_an_algorithm_without_a_private_key_is_refused(
    issuer: LocalIssuer, verifier: TokenVerifier
) -> None:
    """`none`, and a MAC whose key is the issuer's public key."""
    for name in ("none", "None", "NONE", "HS256"):
        assert await verifier.verify(unsigned(issuer, {"alg": name, "kid": "one"})) is None
    public = (
        RSA_KEYS[0]
        .public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    start = unsigned(issuer, {"alg": "HS256", "kid": "one"}).rstrip(".")
    mac = hmac.new(public, start.encode(), hashlib.sha256).digest()
    forged = f"{start}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}"
    assert await verifier.verify(forged) is None
    for algorithm in ("HS256", "none"):
        with pytest.raises(Invalid, match="ALGORITHMS"):
            Issuer(url=issuer.url, audience=AUDIENCE, algorithms=frozenset({algorithm}))


async def test_keys_that_are_not_meant_for_signatures_are_not_used(
    issuer: LocalIssuer, verifier: TokenVerifier
) -> None:
    short = rsa.generate_private_key(public_exponent=65537, key_size=1024)  # noqa: S505 - it must be refused
    issuer.keys = [
        public_jwk(RSA_KEYS[0], "one") | {"use": "enc"},
        {"kty": "oct", "k": "c2VjcmV0", "kid": "mac", "alg": "RS256"},
        public_jwk(short, "short"),
        {"kty": "RSA", "kid": "broken", "n": "?", "e": "AQAB"},
    ]
    for key_id in ("one", "mac", "broken"):
        assert await verifier.verify(token(issuer, headers={"kid": key_id})) is None
    claims = {"iss": issuer.url, "aud": AUDIENCE, "sub": "ada", "exp": 4102444800}
    with pytest.warns(match="2048"):
        weak = jwt.encode(claims, short, "RS256", headers={"kid": "short"})
    assert await verifier.verify(weak) is None


async def test_a_rotated_key_is_fetched_once_and_invented_names_cost_nothing(
    issuer: LocalIssuer, verifier: TokenVerifier, clock: Clock
) -> None:
    assert await verifier.verify(token(issuer)) is not None
    issuer.keys = [public_jwk(RSA_KEYS[1], "two")]
    rotated = token(issuer, RSA_KEYS[1], headers={"kid": "two"})
    assert await verifier.verify(rotated) is None
    clock.now += 61
    assert await verifier.verify(rotated) is not None
    assert await verifier.verify(token(issuer)) is None
    before = len(issuer.asked)
    for number in range(50):
        await verifier.verify(token(issuer, headers={"kid": f"invented {number}"}))
    assert len(issuer.asked) == before
    clock.now += 3601
    assert await verifier.verify(rotated) is not None
    assert len(issuer.asked) == before + 2


async def test_known_keys_stay_valid_while_the_issuer_fails(
    issuer: LocalIssuer, verifier: TokenVerifier, clock: Clock
) -> None:
    good = token(issuer)
    assert await verifier.verify(good) is not None
    issuer.named = "https://another.example"
    clock.now += 7200
    assert await verifier.verify(good) is not None


async def test_an_issuer_that_hangs_delays_one_request_and_no_other(
    verifier: TokenVerifier, issuer: LocalIssuer, clock: Clock
) -> None:
    shown = token(issuer)
    assert await verifier.verify(shown)
    clock.now += 3700
    asked, answer = asyncio.Event(), asyncio.Event()

    async def hang(request: httpx.Request) -> httpx.Response:
        asked.set()
        await answer.wait()
        return httpx.Response(503)

    async with httpx.AsyncClient(transport=httpx.MockTransport(hang)) as verifier.client:
        first = asyncio.create_task(verifier.verify(shown))
        await asked.wait()
        async with asyncio.timeout(PATIENCE):
            assert await verifier.verify(shown)
        assert not first.done()
        answer.set()
        assert await first


async def test_an_issuer_that_describes_another_one_gives_no_keys(
    issuer: LocalIssuer, verifier: TokenVerifier
) -> None:
    issuer.named = "https://another.example"
    with pytest.raises(SourceFailed):
        await verifier.verify(token(issuer))


def test_an_issuer_needs_tls_and_an_audience() -> None:
    for url, audience in (("http://idp.example", AUDIENCE), ("https://idp.example", "")):
        with pytest.raises(Invalid):
            Issuer(url=url, audience=audience, algorithms=frozenset({"RS256"}))


NAMES = ClaimNames(
    person="sub", tags="", project="", home="default", scopes=frozenset({Scope.READ})
)
CLAIMS = {"iss": "https://idp.example", "sub": "ada"}


def test_claims_name_the_person_the_tags_and_the_project() -> None:
    plain = read_claims(CLAIMS, NAMES)
    assert plain is not None
    assert (plain.person, plain.project, plain.tags) == (
        PersonName(None, OIDC, "ada"),
        "default",
        frozenset(),
    )
    names = replace(NAMES, tags="realm_access.roles", project="https://halden.example/project")
    roles = {"roles": ["team:sales", "not a tag", 7, "team:fair"]}
    found = read_claims(
        CLAIMS | {"realm_access": roles, "https://halden.example/project": "trial"}, names
    )
    assert found is not None
    assert (found.tags, found.project) == (frozenset({"team:sales", "team:fair"}), "trial")
    assert read_claims(CLAIMS, names) is None
    spaced = read_claims(CLAIMS | {"scp": "team:a team:b"}, replace(NAMES, tags="scp"))
    assert spaced is not None
    assert spaced.tags == {"team:a", "team:b"}


def test_an_address_counts_only_if_the_issuer_has_verified_it() -> None:
    names = replace(NAMES, person="email")
    claims = CLAIMS | {"email": "Ada@halden.example"}
    for verified in (False, None, "true"):
        assert read_claims(claims | {"email_verified": verified}, names) is None
    found = read_claims(claims | {"email_verified": True}, names)
    assert found is not None
    assert found.person == PersonName(None, EMAIL, "ada@halden.example")


def test_tokens_administer_nothing() -> None:
    for scope in (Scope.ADMIN, Scope.IMPERSONATE):
        with pytest.raises(Invalid, match="SCOPES"):
            ClaimNames(person="sub", tags="", project="", home="x", scopes=frozenset({scope}))
