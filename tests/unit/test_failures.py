from datetime import UTC, datetime

import pytest

from lightwell.models.failures import Address, http_failure, requested_wait

TODAY = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "20"}, 20),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "20", "retry-after-ms": "1500"}, 1.5),
        ({"retry-after": "Sun, 01 Mar 2026 12:00:30 GMT"}, 30),
        ({"retry-after": "Sun, 01 Mar 2026 11:00:00 GMT"}, 0),
        (
            {
                "retry-after": "Sun, 01 Mar 2026 15:00:30 GMT",
                "date": "Sun, 01 Mar 2026 15:00:00 GMT",
            },
            30,
        ),
        ({"retry-after": "Sun, 01 Mar 2026 12:00:30 -0000"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "999999999"}, 24 * 3600),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1m6.5s"}, 66.5),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "250ms"}, 0.25),
        ({"x-ratelimit-remaining-tokens": "9", "x-ratelimit-reset-tokens": "6s"}, None),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "soon"}, None),
    ],
)
def test_the_wait_an_endpoint_asks_for(headers: dict[str, str], seconds: float | None) -> None:
    assert requested_wait(headers, TODAY) == seconds


@pytest.mark.parametrize(
    ("setting", "status", "code", "advice"),
    [
        ("LIGHTWELL_CHAT", 413, None, "lower LIGHTWELL_CONTEXT_MAX_TOKENS"),
        (
            "LIGHTWELL_CHAT",
            400,
            "context_length_exceeded",
            "the request is too long for 'owl': lower",
        ),
        ("LIGHTWELL_EMBEDDING", 413, None, "lower LIGHTWELL_EMBEDDING_BATCH_SIZE"),
        (
            "LIGHTWELL_NEXT_EMBEDDING",
            422,
            None,
            "can do what the settings LIGHTWELL_NEXT_EMBEDDING_*",
        ),
        ("LIGHTWELL_RERANK", 400, None, "let the endpoint truncate texts"),
        ("LIGHTWELL_CHAT", 429, None, "lower LIGHTWELL_ENDPOINT_CONCURRENCY"),
        ("LIGHTWELL_CHAT", 429, "insufficient_quota", "the account has no credit left"),
        ("LIGHTWELL_CHAT", 401, None, "check LIGHTWELL_CHAT_API_KEY"),
        ("LIGHTWELL_CHAT", 404, None, "there is no model 'owl' at this URL"),
    ],
)
def test_a_refused_request_says_what_to_change(
    setting: str, status: int, code: str | None, advice: str
) -> None:
    address = Address(url="http://127.0.0.1/v1", model="owl", setting=setting)
    assert advice in str(http_failure(address, status, {}, code).error)
