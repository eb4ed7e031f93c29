"""A client on a host of the test: sends requests one after the other and prints the responses as JSON.

Each is `[method, url, key, body]`; a body of null is none. What no server answers yet, or answers with 503, is tried again until the
deadline, as a client does that obeys `Retry-After`.
"""

import json
import sys
import time
from typing import Any

import httpx

_DEADLINE_SECONDS = 120
_UNAVAILABLE = 503


def main() -> None:
    deadline = time.monotonic() + _DEADLINE_SECONDS
    with httpx.Client(timeout=_DEADLINE_SECONDS) as client:
        replies = [_call(client, deadline, *request) for request in json.loads(sys.argv[1])]
    sys.stdout.write(json.dumps(replies) + "\n")


def _call(
    client: httpx.Client, deadline: float, method: str, url: str, key: str, body: Any
) -> tuple[int, str]:
    while True:
        try:
            headers = {"Authorization": f"Bearer {key}"} if key else {}
            reply = client.request(method, url, headers=headers, json=body)
            if reply.status_code != _UNAVAILABLE:
                return reply.status_code, reply.text
            problem = reply.text
        except httpx.ConnectError as error:
            problem = str(error)
        if time.monotonic() > deadline:
            raise SystemExit(problem)
        time.sleep(0.2)


if __name__ == "__main__":
    main()
