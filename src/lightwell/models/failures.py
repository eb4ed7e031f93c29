"""Failures of model endpoints, explained so that the user can fix them.

The endpoint's own message is left out: it may repeat the key or the text that was sent. For the same reason the
library's error is not attached as the cause.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from lightwell.domain.errors import ModelBusy, ModelFailed
from lightwell.text.regex import regex

_TOO_LONG = "context_length_exceeded"
_RETRYABLE = frozenset({408, 409, 425, 429})
_BUSY = frozenset({429, 503, 529})
_PLAIN_CODE = regex(r"[A-Za-z][A-Za-z0-9_.\-]{1,59}")
_DURATION = regex(r"(\d{1,9}(?:\.\d{1,9})?)(ms|h|m|s)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_MAX_WAIT = 24 * 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """An endpoint as messages name it: its URL without secrets, its model, the prefix of its settings."""

    url: str
    model: str
    setting: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """`is_retryable`: a retry may help. `is_alive`: the endpoint answered. `wait`: seconds that it asked for."""

    error: ModelFailed
    reason: str
    is_retryable: bool
    is_alive: bool
    wait: float | None = None


def http_failure(
    address: Address, status: int, headers: Mapping[str, str], code: str | None
) -> Failure:
    """Return the failure for an HTTP status other than 2xx."""
    quota = code in {"insufficient_quota", "billing_hard_limit_reached"}
    passing = not quota and (status in _RETRYABLE or status >= 500)
    if headers.get("x-should-retry") == "false":
        passing = False
    advice = _advice(address, status, "insufficient_quota" if quota else code or "")
    plain = f" ({code})" if code and _PLAIN_CODE.fullmatch(code) else ""
    kind = ModelBusy if passing and status in _BUSY else ModelFailed
    return Failure(
        error=kind(f"{address.url} answered {status}{plain}: {advice}"),
        reason=f"it answered {status}",
        is_retryable=passing,
        is_alive=status < 500,
        wait=requested_wait(headers, datetime.now(UTC)) if passing else None,
    )


def connection_failure(address: Address) -> Failure:
    return _no_answer(
        ModelFailed(
            f"{address.url} cannot be reached: check that it is running and that {address.setting}_URL is right"
        ),
        "it cannot be reached",
    )


def timeout_failure(address: Address, seconds: float) -> Failure:
    return _no_answer(
        ModelFailed(
            f"{address.url} did not answer within {seconds:g} s: if the model is slow, raise"
            " LIGHTWELL_ENDPOINT_TIMEOUT_SECONDS"
        ),
        f"it did not answer within {seconds:g} s",
    )


def malformed_reply_failure(address: Address, what: str) -> Failure:
    return _no_answer(
        ModelFailed(
            f"{address.url} sent an unexpected reply ({what}): check that"
            f" {address.setting}_URL is an endpoint of the right kind"
        ),
        f"its reply could not be used ({what})",
    )


def requested_wait(headers: Mapping[str, str], today: datetime) -> float | None:
    """Return for how many seconds the endpoint asks for no calls, at most a day; None if it does not say."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return min(milliseconds / 1000, _MAX_WAIT)
    after = headers.get("retry-after")
    if after is not None:
        seconds = _number(after)
        wait = _until(after, headers.get("date"), today) if seconds is None else seconds
    else:
        waits = [
            sum(float(number) * _SECONDS[unit] for number, unit in _DURATION.findall(reset))
            for kind in ("requests", "tokens")
            if headers.get(f"x-ratelimit-remaining-{kind}") == "0"
            and (reset := headers.get(f"x-ratelimit-reset-{kind}"))
        ]
        wait = max(waits, default=0) or None
    return None if wait is None else min(wait, _MAX_WAIT)


def _no_answer(error: ModelFailed, reason: str) -> Failure:
    return Failure(error=error, reason=reason, is_retryable=True, is_alive=False)


def _advice(address: Address, status: int, code: str) -> str:
    match status:
        case _ if code == "insufficient_quota":
            return "the account has no credit left"
        case 401 | 403:
            return f"check {address.setting}_API_KEY"
        case 404:
            return (
                f"there is no model {address.model!r} at this URL: check {address.setting}_URL"
                f" and {address.setting}_MODEL"
            )
        case 400 | 413 | 422:
            shorter = _advice_on_length(address)
            if status == 413 or code == _TOO_LONG:
                return f"the request is too long for {address.model!r}: {shorter}"
            return (
                f"it rejects this request: check that {address.model!r} can do what the settings {address.setting}_*"
                f" ask of it. If only some requests fail, their text is too long: {shorter}"
            )
        case 429:
            return (
                "too many requests: set LIGHTWELL_ENDPOINT_REQUESTS_PER_MINUTE or LIGHTWELL_ENDPOINT_TOKENS_PER_MINUTE"
                " to what the account allows, or lower LIGHTWELL_ENDPOINT_CONCURRENCY"
            )
        case _ if status >= 500:
            return "the server has an internal error; try again later, or check its log"
        case _:
            return "it rejects this request"


def _advice_on_length(address: Address) -> str:
    kind = address.setting.rpartition("_")[2]
    if kind == "CHAT":
        return "lower LIGHTWELL_CONTEXT_MAX_TOKENS, or use a model with a longer context"
    if kind == "EMBEDDING":
        return "lower LIGHTWELL_EMBEDDING_BATCH_SIZE, let the endpoint truncate texts, or use a model with a longer context"
    return "let the endpoint truncate texts, or use a model with a longer context"


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None


def _until(date: str, sent: str | None, today: datetime) -> float | None:
    """Return the seconds until `date`, by the endpoint's own clock where it sends one."""
    try:
        moment = parsedate_to_datetime(date)
        base = parsedate_to_datetime(sent) if sent else today
        return max(0.0, (moment - base).total_seconds())
    except (TypeError, ValueError):
        return None
