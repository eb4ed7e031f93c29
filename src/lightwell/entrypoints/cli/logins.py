"""The servers that a person has logged in to, with an API key for each, in a file that only this person may read."""

from dataclasses import dataclass
from pathlib import Path

import platformdirs
from pydantic import BaseModel, ConfigDict, SecretStr, ValidationError

from lightwell.domain.errors import Invalid, NotFound
from lightwell.ownership import replace_for_owner

_FILE = "logins.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """A server and the API key that is shown to it."""

    url: str
    api_key: SecretStr


class _Saved(BaseModel):
    """The file: keys by URL, and the URL that is used where none is named."""

    model_config = ConfigDict(extra="forbid")

    default: str = ""
    keys: dict[str, str] = {}


def logins_path() -> Path:
    """Return where logins are saved."""
    return platformdirs.user_config_path("lightwell", appauthor=False) / _FILE


def parse_server_url(text: str) -> str:
    """Return the URL of a server without a slash at its end; raise `Invalid` where it is none."""
    url = text.strip().rstrip("/")
    if not url.startswith(("http://", "https://")) or "@" in url:
        raise Invalid(
            "The URL of a server begins with http:// or https://, without a user or a key"
        )
    return url


def save_login(login: Login) -> Path:
    """Save the login as the one that is used where no server is named, and return the file."""
    saved = _read()
    return _write(
        _Saved(default=login.url, keys={**saved.keys, login.url: login.api_key.get_secret_value()})
    )


def forget_login(url: str) -> None:
    """Forget the key of this server; raise `NotFound` where there is none."""
    saved = _read()
    if url not in saved.keys:
        raise NotFound(f"There is no saved login for {url}")
    keys = {server: key for server, key in saved.keys.items() if server != url}
    _write(_Saved(default="" if saved.default == url else saved.default, keys=keys))


def find_login(server: str | None, api_key: SecretStr | None) -> Login:
    """Return the login for `server`, or the latest one where it is None; `api_key` replaces the saved key.

    Raises `NotFound`, saying how to log in.
    """
    saved = _read()
    url = parse_server_url(server) if server else saved.default
    if not url:
        raise NotFound("There is no saved login: run `lightwell login URL`, or name --server URL")
    key = api_key or (SecretStr(saved.keys[url]) if url in saved.keys else None)
    if key is None:
        raise NotFound(
            f"There is no API key for {url}: run `lightwell login {url}`, or set LIGHTWELL_API_KEY"
        )
    return Login(url=url, api_key=key)


def has_login() -> bool:
    """Return whether a login is used where no server is named."""
    return bool(_read().default)


def _read() -> _Saved:
    path = logins_path()
    try:
        return _Saved.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return _Saved()
    except ValidationError:
        # The error itself would show the keys.
        raise Invalid(f"{path} is no file of logins; delete it and log in again") from None


def _write(saved: _Saved) -> Path:
    path = logins_path()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    replace_for_owner(path, saved.model_dump_json(indent=2))
    return path
