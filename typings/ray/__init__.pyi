"""The part of Ray that Lightwell calls. Ray is an optional extra, and its own types are incomplete."""

from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, ParamSpec, TypeVar

from ray import exceptions as exceptions
from ray import util as util

P = ParamSpec("P")
R = TypeVar("R")

class ObjectRef(Generic[R]):
    def future(self) -> Future[R]: ...

class RemoteFunction(Generic[P, R]):
    def remote(self, *args: P.args, **kwargs: P.kwargs) -> ObjectRef[R]: ...

def init(
    *,
    address: str,
    num_cpus: int | None = ...,
    include_dashboard: bool | None = ...,
    log_to_driver: bool = ...,
    configure_logging: bool = ...,
    object_store_memory: int = ...,
) -> object: ...
def shutdown() -> None: ...
def remote(
    *, num_cpus: float, max_retries: int
) -> Callable[[Callable[P, R]], RemoteFunction[P, R]]: ...
def cancel(ref: ObjectRef[R]) -> None: ...
def cluster_resources() -> dict[str, float]: ...
def nodes() -> list[dict[str, object]]: ...
