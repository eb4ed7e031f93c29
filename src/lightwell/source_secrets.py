"""The secrets of sources, which are nowhere but in the environment: LIGHTWELL_SOURCE_<NAME>_TOKEN and _WEBHOOK_SECRET."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

from dotenv import dotenv_values
from pydantic import SecretStr

from lightwell.domain.errors import Invalid

TOKEN, WEBHOOK_SECRET = "TOKEN", "WEBHOOK_SECRET"
SECRET_NAME = re.compile(r"source_.+_(?:token|webhook_secret)", re.DOTALL)
"""Matches the names of these variables, in small letters and without the prefix."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSecrets:
    """The secrets of one source. `token` opens the system's API; `webhook_secret` is None where nothing may send webhooks."""

    token: SecretStr | None
    webhook_secret: SecretStr | None
    name: str

    def require_token(self) -> str:
        """Return the token; raise `Invalid` naming the variable to set."""
        if self.token is None:
            raise Invalid(
                f"Set {variable_name(self.name, TOKEN)} to the token of the source {self.name!r}"
            )
        return self.token.get_secret_value()


def variable_name(source: str, secret: str) -> str:
    """Return the variable with a secret of the source: `LIGHTWELL_SOURCE_SALES_CRM_TOKEN` for `sales-crm`."""
    return f"LIGHTWELL_SOURCE_{source.upper().replace('-', '_')}_{secret}"


def read_source_secrets(
    source: str, environment: Mapping[str, str | None] | None = None
) -> SourceSecrets:
    """Return the secrets of the source with this name, from the environment, else from `.env`."""
    known = {**dotenv_values(".env"), **os.environ} if environment is None else environment

    def read(secret: str) -> SecretStr | None:
        value = (known.get(variable_name(source, secret)) or "").strip()
        return SecretStr(value) if value else None

    return SourceSecrets(name=source, token=read(TOKEN), webhook_secret=read(WEBHOOK_SECRET))
