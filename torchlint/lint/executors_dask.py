"""The workers of a Dask cluster. All that they need is sent to them: they share no disk with this process."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from threading import Lock
from typing import Any, TypeVar
from uuid import uuid4

from ..system.failure import Failure
from .executors import Answers, Died, Queue, Workers

S = TypeVar("S")
T = TypeVar("T")
R = TypeVar("R")

TIMEOUT = 15
"""Seconds to wait for the scheduler, and for its first worker."""
_AHEAD = 2
"""Items that a worker has at once, so that it never waits for the next."""
_PACKAGES = ("torchlint", "libcst")


class Dask:
    """A connection to the scheduler at an address, such as `tcp://10.0.0.1:8786`.

    Raises Failure where it or its workers can't be used. When a worker is lost the scheduler gives what it had to another
    one; only an item that takes several workers with it counts as died.
    """

    def __init__(self, address: str) -> None:
        try:
            distributed = _distributed()
        except ImportError:
            from ..system import install

            raise Failure(f"`--executor dask` needs Dask: {install.command('dask', 'distributed')}") from None
        try:
            self._client = distributed.Client(address, timeout=TIMEOUT, set_as_default=False)
        except (OSError, ValueError) as error:  # a time-out is an OSError too
            raise Failure(f"the Dask scheduler at {address} can't be reached: {error}") from None
        try:
            self._check(address)
        except BaseException:
            self.close()
            raise

    def _check(self, address: str) -> None:
        try:
            self._client.wait_for_workers(1, timeout=TIMEOUT)
        except (OSError, _distributed().TimeoutError):
            raise Failure(f"the Dask scheduler at {address} has no workers") from None
        own = versions()
        for worker, there in self._client.run(_telling(_PACKAGES)).items():
            if there != own:
                raise Failure(f"the Dask worker at {worker} has {there}, this process {own}: both must have the same")

    @property
    def jobs(self) -> int:
        """How many workers there are."""
        return len(self._client.nthreads())

    def open(self, shared: Any) -> Workers:
        return _Cluster(self._client, pickle.dumps(shared, pickle.HIGHEST_PROTOCOL))

    def close(self) -> None:
        """Leave the cluster as it was."""
        self._client.close()


def _distributed() -> Any:
    """Dask's module, of whose annotations too many are missing to be of use."""
    return import_module("distributed")


def versions() -> str:
    """What finds the same wherever it runs, for people."""
    told: str = _telling(_PACKAGES)()
    return told


def _telling(packages: Sequence[str]) -> Callable[[], str]:
    """A function that a worker can run without any of the packages: as an inner one it is sent with its code."""

    def tell() -> str:
        import platform
        from importlib.metadata import PackageNotFoundError, version

        found = [f"Python {'.'.join(platform.python_version_tuple()[:2])}"]
        for package in packages:
            try:
                found.append(f"{package} {version(package)}")
            except PackageNotFoundError:
                found.append(f"no {package}")
        return ", ".join(found)

    return tell


class _Cluster:
    """The workers of a cluster that have been sent something."""

    def __init__(self, client: Any, data: bytes) -> None:
        self._client = client
        self._data = data
        self._token = uuid4().hex
        self._sent = self._send()

    def _send(self) -> Any:
        return self._client.scatter(self._data, broadcast=True, hash=False)

    def map(self, work: Callable[[S, T], R], items: Sequence[T], where: Sequence[float]) -> Answers[R]:
        addresses = list(self._client.nthreads())
        queue = Queue(where, len(addresses))
        running: dict[Any, tuple[int, int]] = {}
        distributed = _distributed()
        answers = distributed.as_completed(loop=self._client.loop)

        def give(number: int, place: int | None) -> None:
            if place is not None:
                future = self._client.submit(
                    _work,
                    self._token,
                    self._sent,
                    work,
                    items[place],
                    pure=False,
                    workers=[addresses[number]],
                    allow_other_workers=True,
                )
                running[future] = (number, place)
                answers.add(future)

        for _ in range(_AHEAD):
            for number in range(len(addresses)):
                give(number, queue.take(number))
        try:
            for future in answers:
                number, place = running.pop(future)
                if future.cancelled():  # all workers that held what was sent are gone
                    self._sent = self._send()
                    give(number, place)
                    continue
                give(number, queue.take(number))
                try:
                    answer = future.result()
                except distributed.KilledWorker as error:
                    answer = Died(f"so did {error.allowed_failures} others")
                yield place, answer
        finally:
            self._client.cancel(list(running))

    def close(self) -> None:
        with suppress(RuntimeError):  # the connection is closed already
            self._client.cancel([self._sent])


# In the workers

_LOCK = Lock()
"""A worker may have many threads; what is found out about a project is for one at a time."""
_known: dict[str, Any] = {}
"""What this process was sent last, by its token."""


def _work(token: str, data: bytes, work: Callable[[Any, Any], Any], item: Any) -> Any:
    with _LOCK:
        if token not in _known:
            _known.clear()
            _known[token] = pickle.loads(data)
        return work(_known[token], item)
