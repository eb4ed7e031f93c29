"""The secrets of sources, which are nowhere but in the environment, and whom each is for.

LIGHTWELL_SOURCE_<NAME>_TOKEN and _WEBHOOK_SECRET serve the source <NAME> of one project (_PROJECT), of one system (_SYSTEM), at one
address (_BASE_URL). Who may add sources over HTTP does not hold the environment, so none of the three is taken from the source.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from dotenv import dotenv_values
from pydantic import SecretStr

from lightwell.domain.errors import Invalid
from lightwell.text.regex import regex

VARIABLE_NAME = regex(r"source_.+_(?:token|webhook_secret|project|system|base_url)", re.DOTALL)
"""Matches the names of these variables, in small letters and without the prefix."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSecrets:
    """The secrets of one source, and whom they are for.

    `token` opens the system's API; `webhook_secret` is None where nothing may send webhooks. `project` is "" for the project of the
    process, `system` "" for any built-in connector, `base_url` "" for the system's own address.
    """

    token: SecretStr | None
    webhook_secret: SecretStr | None
    name: str
    project: str = ""
    system: str = ""
    base_url: str = ""

    def require_token(self) -> str:
        """Return the token; raise `Invalid` naming the variables to set."""
        if self.token is None:
            raise Invalid(
                f"Set {variable_name(self.name, 'TOKEN')} to the token of the source {self.name!r} where Lightwell runs;"
                f" {variable_name(self.name, 'PROJECT')} to its project, unless that is the project of LIGHTWELL_PROJECT there;"
                f" {variable_name(self.name, 'SYSTEM')} to its system, if that is a plug-in's"
            )
        return self.token.get_secret_value()

    def withheld(self) -> "SourceSecrets":
        """Return what a source gets for which these secrets are not: nothing, as if they were not set."""
        return replace(self, token=None, webhook_secret=None, base_url="")


def variable_name(source: str, part: str) -> str:
    """Return a variable of the source: `LIGHTWELL_SOURCE_SALES_CRM_TOKEN` for `sales-crm`."""
    return f"LIGHTWELL_SOURCE_{source.upper().replace('-', '_')}_{part}"


def read_source_secrets(
    source: str, environment: Mapping[str, str | None] | None = None
) -> SourceSecrets:
    """Return the secrets that the environment, else `.env`, has under the name of a source; the caller checks whom they are for."""
    variables = {**dotenv_values(".env"), **os.environ} if environment is None else environment

    def read(part: str) -> str:
        return (variables.get(variable_name(source, part)) or "").strip()

    def read_secret(part: str) -> SecretStr | None:
        value = read(part)
        return SecretStr(value) if value else None

    return SourceSecrets(
        name=source,
        token=read_secret("TOKEN"),
        webhook_secret=read_secret("WEBHOOK_SECRET"),
        project=read("PROJECT"),
        system=read("SYSTEM"),
        base_url=read("BASE_URL"),
    )
