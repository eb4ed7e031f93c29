"""Every error Lightwell raises on purpose.

LightwellError
├── Invalid             the caller's words are wrong; the message says which and how to mend them
├── NotFound            it is not there, or the reader may not see it (the two cannot be told apart)
├── Unreadable          one document cannot be read; the rest goes on
│   └── TooCostly       reading it went beyond a limit; with another limit it may be read
├── ParserFailed        the process that parses documents could not be started
├── ModelFailed         a model endpoint refused, failed or was not understood
│   ├── ModelBusy       it asked us to come back later
│   ├── ModelRefused    it is well and would not answer this, or said nothing
│   └── BudgetSpent     the next call would cost more tokens than are left to spend
├── SourceFailed        a source system refused or failed
├── StoreFailed         a database refused or failed
│   ├── StoreConflict   another transaction wrote the same rows; nothing was written, and a repetition may succeed
│   └── ServerFailed    the embedded PostgreSQL could not be started or stopped
└── Lost                a job's lease went to another worker; nothing of ours may be written for it
"""


class LightwellError(Exception):
    """The root of the tree; `code` is stable and goes to programs, the message to people."""

    code = "internal_error"


class Invalid(LightwellError):
    code = "invalid_request"


class NotFound(LightwellError):
    code = "not_found"


class Unreadable(LightwellError):
    """One document cannot be read; `reason` is a stable word such as `encrypted` or `too_large`."""

    code = "unreadable_document"

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class TooCostly(Unreadable):
    """A document went beyond a limit of time or memory; `depends_on_process` where another process might do better."""

    code = "over_limit"

    def __init__(self, message: str, *, depends_on_process: bool) -> None:
        super().__init__("too_costly", message)
        self.depends_on_process = depends_on_process


class ParserFailed(LightwellError):
    code = "parser_failed"


class ModelFailed(LightwellError):
    code = "model_failed"


class ModelBusy(ModelFailed):
    code = "model_busy"


class ModelRefused(ModelFailed):
    """The call was answered and paid; `said` is what came instead of a reply, "" for nothing."""

    code = "model_refused"

    def __init__(
        self, message: str, *, said: str = "", input_tokens: int = 0, output_tokens: int = 0
    ) -> None:
        super().__init__(message)
        self.said = said
        self.input_tokens = input_tokens
        self.output_tokens = output_tokens


class SchemaDeclined(ModelFailed):
    """Nothing was answered or paid: the endpoint cannot hold its model to a schema, and was not to go without."""

    code = "schema_declined"


class BudgetSpent(ModelFailed):
    code = "budget_spent"


class SourceFailed(LightwellError):
    code = "source_failed"


class StoreFailed(LightwellError):
    code = "store_failed"


class StoreConflict(StoreFailed):
    code = "store_conflict"


class ServerFailed(StoreFailed):
    code = "server_failed"


class Lost(LightwellError):
    code = "lease_lost"
