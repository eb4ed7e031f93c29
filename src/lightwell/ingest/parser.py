"""Parses documents in child processes, so that a hostile file can only exhaust a process that is replaceable."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Lock, Timer

from pydantic import ValidationError

from lightwell.domain.documents import Format, Part
from lightwell.domain.errors import LightwellError, LimitExceeded, ParserFailed, Unreadable
from lightwell.domain.formats import DRAWN
from lightwell.domain.originals import Picture, PictureRequest
from lightwell.ingest.parser_messages import (
    HELLO,
    LIMITS,
    OUT_OF_MEMORY,
    REPLY,
    REQUEST,
    SCAN_SECONDS,
    UNEXPECTED,
    ChunkedDocument,
    ParserLimits,
    Reply,
    Request,
    read_frame,
    write_frame,
)
from lightwell.logs import logger

_STARTUP_SECONDS = 120.0
_GRACE_SECONDS = 10.0
"""How long the parent waits after the child's own time limit before it kills the child."""

_MAX_DOCUMENTS = 200
"""Documents that one process parses before it is replaced, so that leaked memory cannot accumulate."""

_BOOTSTRAP = (
    "import json, runpy, sys; sys.path[:] = json.loads(sys.argv.pop(1));"
    " runpy.run_module('lightwell.ingest.parser_process', run_name='__main__')"
)

_CLOSED = "The parser was closed while it had documents to parse"
_WRONG_REPLY = "The parser replied to something else: the file may have taken its process over"
_NOT_STARTED = "The process that parses documents did not start: {}"

_log = logger(__name__)


class Parser:
    """Parses documents in up to `processes` child processes, which start on demand and are reused.

    `limits` apply to each document. `close` ends the processes; calls that still wait raise `ParserFailed`.
    """

    def __init__(self, limits: ParserLimits | None = None, *, processes: int = 2) -> None:
        self.limits = limits or ParserLimits()
        # A process ends with the thread that started it (PR_SET_PDEATHSIG), so the threads are the parser's own.
        self.processes = processes
        self._threads = ThreadPoolExecutor(processes, thread_name_prefix="lightwell-parser")
        self._idle: list[_Process] = []
        self._all: set[_Process] = set()
        self._lock = Lock()
        self._closed = False

    async def parse(self, content: bytes, format: Format, *, name: str) -> ChunkedDocument:
        """Return the document in chunks; `name` is the file's name.

        Raise `Unreadable` with the parser's reason, `LimitExceeded` if the process hit a limit or crashed, and
        `ParserFailed` if no process can be started. Cancelling the call kills the process that works for it.
        """
        reply = await self._ask(Request(format=format, name=name), content)
        if reply.document is None:
            raise LightwellError(_WRONG_REPLY)
        return reply.document

    async def split(self, content: bytes, format: Format, *, name: str) -> tuple[Part, ...]:
        """Return the documents that a file contains; raise as `parse` does."""
        reply = await self._ask(Request(format=format, name=name, is_split=True), content)
        if reply.parts is None:
            raise LightwellError(_WRONG_REPLY)
        return reply.parts

    async def draw(self, content: bytes, wanted: PictureRequest) -> Picture:
        """Return the picture of a page of a PDF; raise as `parse` does."""
        reply = await self._ask(wanted, content)
        if reply.picture is None:
            raise LightwellError(_WRONG_REPLY)
        return reply.picture

    async def _ask(self, request: Request | PictureRequest, content: bytes) -> Reply:
        task = _Task(request=request, content=content)
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._threads, self._run, task)
        except asyncio.CancelledError:
            task.cancel()
            raise

    @property
    def process_ids(self) -> list[int]:
        """The ids of the running child processes, for monitoring."""
        with self._lock:
            return [process.id for process in self._all]

    def close(self) -> None:
        """End all processes. The parser cannot be used afterwards."""
        with self._lock:
            self._closed = True
            processes = list(self._all)
        for process in processes:
            process.end()
        self._threads.shutdown(cancel_futures=True)

    def _run(self, task: "_Task") -> Reply:
        process = self._take_process()
        is_fresh = process.documents == 0
        try:
            return self._run_on(process, task)
        except LimitExceeded as error:
            if self._closed or task.cancelled:
                raise ParserFailed(_CLOSED) from error
            if is_fresh or not error.depends_on_process:
                raise
        # Earlier documents may have filled its memory: try once in a fresh process.
        return self._run_on(self._start_process(), task)

    def _run_on(self, process: "_Process", task: "_Task") -> Reply:
        try:
            reply = process.parse(task)
        except BaseException:
            self._discard_process(process)
            raise
        if process.documents >= _MAX_DOCUMENTS or (
            reply.refusal is not None and reply.refusal.reason in (OUT_OF_MEMORY, UNEXPECTED)
        ):
            self._discard_process(process)
        else:
            self._return_process(process)
        refusal = reply.refusal
        if refusal is None:
            return reply
        match refusal.reason:
            case reason if reason == OUT_OF_MEMORY:
                raise _too_much_memory(self.limits, "there was no more")
            case reason if reason == UNEXPECTED:
                raise LightwellError(
                    f"the parser failed on it with an unexpected {refusal.message}; please report it"
                )
            case reason:
                raise Unreadable(reason, refusal.message)

    def _take_process(self) -> "_Process":
        while True:
            with self._lock:
                process = self._idle.pop() if self._idle else None
            if process is None:
                return self._start_process()
            if process.is_alive():
                return process
            self._discard_process(process)

    def _return_process(self, process: "_Process") -> None:
        with self._lock:
            if not self._closed:
                self._idle.append(process)

    def _discard_process(self, process: "_Process") -> None:
        process.end()
        with self._lock:
            self._all.discard(process)

    def _start_process(self) -> "_Process":
        with self._lock:
            if self._closed:
                raise ParserFailed(_CLOSED)
        process = _Process(self.limits)
        with self._lock:
            self._all.add(process)
            closed = self._closed
        if closed:
            self._discard_process(process)
            raise ParserFailed(_CLOSED)
        return process


@dataclass(slots=True, kw_only=True)
class _Task:
    """One document to parse, or a page to draw; `process` is the child process that does it now."""

    request: Request | PictureRequest
    content: bytes
    process: "_Process | None" = None
    cancelled: bool = False
    lock: Lock = field(default_factory=Lock)

    @property
    def may_hold_scans(self) -> bool:
        return isinstance(self.request, Request) and self.request.format in DRAWN

    def assign(self, process: "_Process") -> None:
        with self.lock:
            self.process = process
            if self.cancelled:
                process.kill()

    def release(self) -> None:
        with self.lock:
            self.process = None

    def cancel(self) -> None:
        with self.lock:
            self.cancelled = True
            if self.process is not None:
                self.process.kill()


class _Process:
    """One child process. One thread at a time uses it; any thread may kill it."""

    def __init__(self, limits: ParserLimits) -> None:
        """Start the process and wait until it is ready; raise `ParserFailed`."""
        self.documents = 0
        self._limits = limits
        self._timed_out = False
        self._process = _popen(limits)
        assert self._process.stdin is not None  # noqa: S101 - both are pipes
        assert self._process.stdout is not None  # noqa: S101
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        timer = self._start_timer(_STARTUP_SECONDS)
        try:
            hello = HELLO.validate_json(read_frame(self._stdout))
        except (EOFError, OSError, ValidationError) as error:
            raise ParserFailed(_NOT_STARTED.format(f"exit status {self.end()}")) from error
        finally:
            timer.cancel()
        if not hello.limits_memory:
            _log.warning("parsing has no limit of memory: this system does not enforce one")

    def parse(self, task: _Task) -> Reply:
        """Return the process's reply; raise `LimitExceeded` if it ends without one."""
        self.documents += 1
        more = SCAN_SECONDS if task.may_hold_scans else 0.0
        timer = self._start_timer(self._limits.seconds + more + _GRACE_SECONDS)
        task.assign(self)
        try:
            write_frame(self._stdin, REQUEST.dump_json(task.request))
            write_frame(self._stdin, task.content)
            return REPLY.validate_json(read_frame(self._stdout))
        except (EOFError, OSError, ValueError) as error:
            raise self._error_after_exit(len(task.content)) from error
        finally:
            timer.cancel()
            task.release()

    @property
    def id(self) -> int:
        return self._process.pid

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        self._process.kill()

    def end(self) -> int:
        """End the process and return its exit status; a negative status is the signal that ended it."""
        self._process.kill()
        status = self._process.wait()
        for stream in (self._stdin, self._stdout):
            with suppress(BrokenPipeError):
                stream.close()
        return status

    def _error_after_exit(self, size: int) -> LimitExceeded:
        status, limits = self.end(), self._limits
        if status == -signal.SIGXCPU:
            allowed = limits.cpu_seconds_for(size)
            advice = (
                ", the most for a file of its size: it is damaged, or made to be slow"
                if allowed < limits.cpu_seconds
                else "; split it"
            )
            return LimitExceeded(
                f"parsing it took more than {allowed:,} seconds of processor time{advice}",
                depends_on_process=False,
            )
        if status == -signal.SIGALRM or self._timed_out:
            return LimitExceeded(
                f"parsing it took longer than {limits.seconds:,.0f} seconds; split it",
                depends_on_process=False,
            )
        return _too_much_memory(limits, f"its parser ended with status {status}")

    def _start_timer(self, seconds: float) -> Timer:
        timer = Timer(seconds, self._time_out)
        timer.daemon = True
        timer.start()
        return timer

    def _time_out(self) -> None:
        self._timed_out = True
        self.kill()


def _popen(limits: ParserLimits) -> "subprocess.Popen[bytes]":
    """Start the child without the parent's environment, directory, connections or module settings."""
    paths = json.dumps([path for path in sys.path if os.path.isabs(path)])  # noqa: PTH117 - a plain test
    encoded_limits = LIMITS.dump_json(limits).decode()
    try:
        return subprocess.Popen(  # noqa: S603 - our own module, in our own interpreter
            [sys.executable, "-I", "-c", _BOOTSTRAP, paths, encoded_limits],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={},
            cwd="/",
        )
    except OSError as error:
        raise ParserFailed(_NOT_STARTED.format(error)) from error


def _too_much_memory(limits: ParserLimits, detail: str) -> LimitExceeded:
    return LimitExceeded(
        f"parsing it took more than {limits.memory_bytes // 1024**2:,} MB of memory ({detail}); split it",
        depends_on_process=True,
    )
