"""The child process that parses, and draws pages. It has no environment and no connections; the operating system enforces its limits.

The process ends with its parent, because its input ends; Linux also kills it at once. While it parses, its own timer
ends it as well, so it outlives its parent by at most the time that one document may take.
"""

import ctypes
import os
import resource
import signal
import sys
import traceback
from contextlib import suppress
from typing import BinaryIO

from lightwell.domain.errors import Unreadable
from lightwell.domain.formats import DRAWN, Format
from lightwell.domain.originals import PictureRequest
from lightwell.ingest.chunking import split_into_chunks, split_into_first_chunks
from lightwell.ingest.parse import draw, parse, split
from lightwell.ingest.parser_messages import (
    HELLO,
    LIMITS,
    OUT_OF_MEMORY,
    PICTURE_CPU_SECONDS,
    PICTURE_SECONDS,
    REPLY,
    REQUEST,
    UNEXPECTED,
    ChunkedDocument,
    Hello,
    ParserLimits,
    Refusal,
    Reply,
    Request,
    read_frame,
    write_frame,
)

_PR_SET_PDEATHSIG = 1


def main(limits: ParserLimits) -> None:
    """Parse requests until the input ends."""
    requests, replies = sys.stdin.buffer, _private_output()
    # Signals that a terminal or service sends to the whole group: the parent decides when a document may end.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    split_into_chunks(
        parse(b"The first text loads tables, which is no document's cost.", Format.TEXT, name="")
    )
    write_frame(replies, HELLO.dump_json(Hello(limits_memory=_limit_memory(limits))))
    with suppress(EOFError):
        while True:
            request, content = REQUEST.validate_json(read_frame(requests)), read_frame(requests)
            seconds, cpu_seconds = _allowed(request, len(content), limits)
            used = resource.getrusage(resource.RUSAGE_SELF)
            _limit_cpu(int(used.ru_utime + used.ru_stime) + 1 + cpu_seconds)
            # No handler is installed, so the signal ends the process.
            signal.setitimer(signal.ITIMER_REAL, seconds)
            reply = REPLY.dump_json(_reply_to(request, content, limits))
            signal.setitimer(signal.ITIMER_REAL, 0)
            _limit_cpu(resource.RLIM_INFINITY)
            write_frame(replies, reply)


def _private_output() -> BinaryIO:
    """Return the pipe to the parent, and discard whatever libraries print to standard output."""
    replies = os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)
    return replies


def _limit_memory(limits: ParserLimits) -> bool:
    """Set the memory limit and return whether the system enforces it; macOS does not."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        resource.setrlimit(resource.RLIMIT_AS, (limits.memory_bytes, limits.memory_bytes))
    except (OSError, ValueError):
        return False
    return sys.platform != "darwin"


def _limit_cpu(seconds: int) -> None:
    """Set the soft limit, or the hard one if that is lower: the administrator's (`ulimit -t`, systemd's LimitCPU) stays."""
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    limits = [limit for limit in (seconds, hard) if limit != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_CPU, (min(limits, default=resource.RLIM_INFINITY), hard))


def _allowed(
    request: Request | PictureRequest, size: int, limits: ParserLimits
) -> tuple[float, int]:
    """Return the seconds and the CPU seconds that a request may take."""
    if isinstance(request, Request):
        return limits.seconds, limits.cpu_seconds_for(size)
    return min(limits.seconds, PICTURE_SECONDS), min(limits.cpu_seconds, PICTURE_CPU_SECONDS)


def _reply_to(request: Request | PictureRequest, content: bytes, limits: ParserLimits) -> Reply:
    try:
        if isinstance(request, PictureRequest):
            return Reply(picture=draw(content, request))
        if request.is_split:
            return Reply(parts=tuple(split(content, request.format)))
        document = parse(content, request.format, name=request.name)
        chunking = split_into_first_chunks(document, limits.max_chunks)
        return Reply(
            document=ChunkedDocument(
                title=document.title,
                author=document.author,
                updated_at=document.updated_at,
                chunks=chunking.drafts,
                omitted=chunking.omitted,
                pages=len(document.pages) if request.format in DRAWN else 0,
            )
        )
    except Unreadable as error:
        return Reply(refusal=Refusal(reason=error.reason, message=str(error)))
    except MemoryError:
        return Reply(refusal=Refusal(reason=OUT_OF_MEMORY, message=""))
    except Exception as error:  # noqa: BLE001 - the parent logs it and fails this document alone
        frame = traceback.extract_tb(error.__traceback__)[-1]
        location = f"{frame.filename.rsplit('/', 1)[-1]}:{frame.lineno}"
        message = f"{type(error).__name__} ({location})"
        return Reply(refusal=Refusal(reason=UNEXPECTED, message=message))


if __name__ == "__main__":
    main(LIMITS.validate_json(sys.argv[1]))
