"""The verbs on sessions of browsers: sign in, redeem a link, sign out."""

from dataclasses import dataclass

from lightwell.domain.api_keys import parse_token
from lightwell.domain.principals import Principal
from lightwell.domain.token_claims import TokenIdentity, identity_to_json
from lightwell.domain.web_sessions import (
    LONGEST_OF_ISSUER,
    LONGEST_SESSION,
    Secret,
    new_secret,
    parse_secret,
)
from lightwell.records import web_sessions
from lightwell.records.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSessions:
    """The sessions of a tenant. Each sign-in has a new secret, which is returned once and never stored."""

    database: Database
    tenant: str

    async def sign_in_with_key(self, principal: Principal, key: str, browser: str) -> Secret:
        """Begin a session that is valid as long as this secret of the key is; `principal` is for whom the key speaks."""
        secret = new_secret()
        await web_sessions.insert(
            self.database,
            principal.project_id,
            secret,
            longest=LONGEST_SESSION,
            browser=browser,
            key=parse_token(key),
        )
        return secret

    async def sign_in_with_token(
        self, principal: Principal, identity: TokenIdentity, browser: str
    ) -> Secret:
        """Begin a session of whom an issuer has signed in, as `Principals.of_token` says; of a person of the directory, or of the identity."""
        secret = new_secret()
        await web_sessions.insert(
            self.database,
            principal.project_id,
            secret,
            longest=LONGEST_OF_ISSUER,
            browser=browser,
            person=principal.person,
            identity=None if principal.person else identity_to_json(identity),
        )
        return secret

    async def redeem(self, link: str, browser: str) -> Secret | None:
        """Use a link and begin a session of its person; None for any other text, and for a link that was used or has expired."""
        shown, secret = parse_secret(link), new_secret()
        if shown is None:
            return None
        person = await web_sessions.redeem_link(
            self.database, self.tenant, shown, secret, browser=browser
        )
        return secret if person else None

    async def end(self, secret: Secret, *, everywhere: bool = False) -> None:
        """End a session, or all sessions of whoever has it."""
        end = web_sessions.end_all if everywhere else web_sessions.end
        await end(self.database, secret)
