"""What went wrong with a model endpoint, told so that one can mend it.

The endpoint's own words are left out: they may repeat the key or the text that was sent. For the same reason
no library's error is kept as the cause.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from lightwell.domain.errors import ModelBusy, ModelFailed

_PASSING = frozenset({408, 409, 425, 429})
_BUSY = frozenset({429, 503, 529})
_PLAIN_CODE = re.compile(r"[A-Za-z][A-Za-z0-9_.\-]{1,59}")
_SPAN = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)(ms|h|m|s)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_LONGEST_WAIT = 24 * 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """An endpoint as messages name it: its URL without secrets, its model, the prefix of its settings."""

    url: str
    model: str
    setting: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """`passing`: trying again may help. `alive`: the endpoint answered. `wait`: seconds it asked for."""

    error: ModelFailed
    reason: str
    passing: bool
    alive: bool
    wait: float | None = None


def refused(address: Address, status: int, headers: Mapping[str, str], code: str | None) -> Failure:
    """Explain an HTTP status other than 2xx."""
    quota = code in {"insufficient_quota", "billing_hard_limit_reached"}
    passing = not quota and (status in _PASSING or status >= 500)
    if headers.get("x-should-retry") == "false":
        passing = False
    told = _advice(address, status, "insufficient_quota" if quota else "")
    plain = f" ({code})" if code and _PLAIN_CODE.fullmatch(code) else ""
    kind = ModelBusy if passing and status in _BUSY else ModelFailed
    return Failure(
        error=kind(f"{address.url} answered {status}{plain}: {told}"),
        reason=f"it answered {status}",
        passing=passing,
        alive=status < 500,
        wait=requested_wait(headers, datetime.now(UTC)) if passing else None,
    )


def unreachable(address: Address) -> Failure:
    return _dead(
        ModelFailed(
            f"{address.url} cannot be reached: is it running, and is {address.setting}_URL right?"
        ),
        "it cannot be reached",
    )


def too_slow(address: Address, seconds: float) -> Failure:
    return _dead(
        ModelFailed(
            f"{address.url} did not answer within {seconds:g} s: if the model is slow, raise"
            " LIGHTWELL_ENDPOINT_TIMEOUT_SECONDS"
        ),
        f"it did not answer within {seconds:g} s",
    )


def malformed_reply(address: Address, what: str) -> Failure:
    return _dead(
        ModelFailed(
            f"{address.url} answered with something else than expected ({what}): is"
            f" {address.setting}_URL an endpoint of the right kind?"
        ),
        f"its answer was not understood ({what})",
    )


def requested_wait(headers: Mapping[str, str], today: datetime) -> float | None:
    """Return for how many seconds the endpoint wants no calls; None when it did not say, at most a day."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return min(milliseconds / 1000, _LONGEST_WAIT)
    after = headers.get("retry-after")
    if after is not None:
        seconds = _number(after)
        wait = _until(after, headers.get("date"), today) if seconds is None else seconds
    else:
        wait = _reset(headers)
    return None if wait is None else min(wait, _LONGEST_WAIT)


def _dead(error: ModelFailed, reason: str) -> Failure:
    return Failure(error=error, reason=reason, passing=True, alive=False)


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
            return "it does not take this request: the text may be too long for the model"
        case 429:
            return "too many requests; lower the per-minute limits or wait"
        case _ if status >= 500:
            return "the server has an internal error; try again later, or look into its log"
        case _:
            return "it does not take this request"


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None


def _until(date: str, sent: str | None, today: datetime) -> float | None:
    """Measured by the endpoint's own clock, where it shows one."""
    try:
        moment = parsedate_to_datetime(date)
        base = parsedate_to_datetime(sent) if sent else today
        return max(0.0, (moment - base).total_seconds())
    except (TypeError, ValueError):
        return None


def _reset(headers: Mapping[str, str]) -> float | None:
    """`x-ratelimit-reset-requests: 1m6.5s`, of whichever allowance is used up."""
    waits = [
        sum(float(number) * _SECONDS[unit] for number, unit in _SPAN.findall(reset))
        for kind in ("requests", "tokens")
        if headers.get(f"x-ratelimit-remaining-{kind}") == "0"
        and (reset := headers.get(f"x-ratelimit-reset-{kind}"))
    ]
    return max(waits, default=0) or None
