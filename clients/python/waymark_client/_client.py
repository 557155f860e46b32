"""The clients `Waymark` and `AsyncWaymark`, which users create."""

from __future__ import annotations

import asyncio
import copy
import random
import re
import threading
import time
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from types import TracebackType
from typing import TypeVar

import httpx

from ._calls import Headers, RetryPolicy
from ._drivers import AsyncDriver, Connection, Driver
from ._follow import CursorStore, EventPage, Following, Reconcile, follow, follow_pages
from ._generated import resources
from ._generated.models import BatchItemResult, Event
from ._model import UNSET, Unset
from ._pages import JobChange, in_async_batches, in_batches, update_in_batches
from ._pause import Pause
from ._version import VERSION

WaymarkType = TypeVar("WaymarkType", bound="Waymark")
AsyncWaymarkType = TypeVar("AsyncWaymarkType", bound="AsyncWaymark")

TIMEOUT_S = 30.0
MAX_RETRIES = 5
MAX_RETRY_AFTER_S = 60.0
POLL_INTERVAL_S = 5.0
# The share of a partner, unless the operator changes it.
MAX_CONCURRENT_REQUESTS = 5

Timeout = float | httpx.Timeout | None


def _never() -> bool:
    return False


def _connect(api_key: str, base_url: str, timeout: Timeout, policy: RetryPolicy) -> Connection:
    # Never printed: a key that was read from a file often ends with a line break.
    if not re.fullmatch(r"[\x21-\x7e]+", api_key):
        raise ValueError("api_key must be an API key of Waymark, without white space")
    url = httpx.URL(base_url)
    if url.scheme not in ("http", "https") or not url.host:
        raise ValueError("base_url must be the URL of the service, such as https://waymark.example.com")
    headers = {"x-api-key": api_key, "user-agent": f"waymark-client-python/{VERSION}"}
    root = base_url.rstrip("/").removesuffix("/v1")
    return Connection(base_url=f"{root}/v1", headers=headers, timeout=timeout, policy=policy)


def _permits(max_concurrent_requests: int) -> int:
    if max_concurrent_requests < 1:
        raise ValueError(f"max_concurrent_requests must be at least 1, got {max_concurrent_requests}")
    return max_concurrent_requests


class Jobs(resources.Jobs):
    """Delivery jobs."""

    def update_many(
        self,
        jobs: Iterable[JobChange],
        *,
        dry_run: bool = False,
        idempotency_key: str | Unset = UNSET,
        headers: Headers = None,
    ) -> Iterator[BatchItemResult]:
        """Updates any number of jobs in batches of 100, and returns the result of each in their order.

        A batch is sent when you read its first result, so read all of them. A failed job does not stop the others.
        idempotency_key: the key of a batch is this text, a hyphen and the number of the batch from 1. The same jobs
            with the same key change nothing twice within 24 hours. Without it each batch has a random key.
        headers: further headers of each request.
        """
        policy = self._driver.connection.policy
        steps = update_in_batches(in_batches(jobs), policy, dry_run, idempotency_key, headers)
        return self._driver.iterate(steps)


class AsyncJobs(resources.AsyncJobs):
    """Delivery jobs."""

    def update_many(
        self,
        jobs: Iterable[JobChange] | AsyncIterable[JobChange],
        *,
        dry_run: bool = False,
        idempotency_key: str | Unset = UNSET,
        headers: Headers = None,
    ) -> AsyncIterator[BatchItemResult]:
        """Updates any number of jobs in batches of 100, and returns the result of each in their order.

        A batch is sent when you read its first result, so read all of them. A failed job does not stop the others.
        idempotency_key: the key of a batch is this text, a hyphen and the number of the batch from 1. The same jobs
            with the same key change nothing twice within 24 hours. Without it each batch has a random key.
        headers: further headers of each request.
        """
        policy = self._driver.connection.policy
        batches = in_async_batches(jobs) if isinstance(jobs, AsyncIterable) else in_batches(jobs)
        steps = update_in_batches(batches, policy, dry_run, idempotency_key, headers)
        return self._driver.iterate(steps)


class Events(resources.Events):
    """Changes of jobs."""

    def follow(
        self,
        *,
        store: CursorStore,
        reconcile: Reconcile,
        types: Sequence[str] | Unset = UNSET,
        poll_interval: float = POLL_INTERVAL_S,
        stop: Callable[[], bool] = _never,
        headers: Headers = None,
    ) -> Iterator[Event]:
        """Returns all events from now on, each at least once and those of a job in order.

        store: keeps the position; it is saved when you ask for the event after a page.
        reconcile: called before the first event if the store is empty, and when events have left the feed (410).
            Compare your copy with `jobs.list` in it. The position is saved after it returns.
        poll_interval: seconds between requests when there are no new events, at least 1.
        stop: ends the iterator before the next request if it returns true, without an error.
        headers: further headers of each request.
        """
        following = Following(reconcile, types, poll_interval, stop, headers)
        return self._driver.iterate(follow(following, store, self._driver.connection.policy))

    def follow_pages(
        self,
        *,
        after: str | None,
        reconcile: Reconcile,
        types: Sequence[str] | Unset = UNSET,
        poll_interval: float = POLL_INTERVAL_S,
        stop: Callable[[], bool] = _never,
        headers: Headers = None,
    ) -> Iterator[EventPage]:
        """Like `follow`, by pages: save `cursor` in the same transaction as the effects of `events`.

        after: the cursor that you saved, or None at the first start.
        reconcile: called at the first start, and when events have left the feed (410). Then a page without events has
            the cursor from which to continue.
        The other arguments are those of `follow`.
        """
        following = Following(reconcile, types, poll_interval, stop, headers)
        return self._driver.iterate(follow_pages(following, after, self._driver.connection.policy))


class AsyncEvents(resources.AsyncEvents):
    """Changes of jobs."""

    def follow(
        self,
        *,
        store: CursorStore,
        reconcile: Reconcile,
        types: Sequence[str] | Unset = UNSET,
        poll_interval: float = POLL_INTERVAL_S,
        stop: Callable[[], bool] = _never,
        headers: Headers = None,
    ) -> AsyncIterator[Event]:
        """Returns all events from now on, each at least once and those of a job in order.

        store: keeps the position; it is saved when you ask for the event after a page.
        reconcile: called before the first event if the store is empty, and when events have left the feed (410).
            Compare your copy with `jobs.list` in it. The position is saved after it returns. It may be async.
        poll_interval: seconds between requests when there are no new events, at least 1.
        stop: ends the iterator before the next request if it returns true, without an error.
        headers: further headers of each request.
        """
        following = Following(reconcile, types, poll_interval, stop, headers)
        return self._driver.iterate(follow(following, store, self._driver.connection.policy))

    def follow_pages(
        self,
        *,
        after: str | None,
        reconcile: Reconcile,
        types: Sequence[str] | Unset = UNSET,
        poll_interval: float = POLL_INTERVAL_S,
        stop: Callable[[], bool] = _never,
        headers: Headers = None,
    ) -> AsyncIterator[EventPage]:
        """Like `follow`, by pages: save `cursor` in the same transaction as the effects of `events`.

        after: the cursor that you saved, or None at the first start.
        reconcile: called at the first start, and when events have left the feed (410). Then a page without events has
            the cursor from which to continue. It may be async.
        The other arguments are those of `follow`.
        """
        following = Following(reconcile, types, poll_interval, stop, headers)
        return self._driver.iterate(follow_pages(following, after, self._driver.connection.policy))


class Waymark(resources.Resources):
    """The API of one Waymark service, for one API key. Threads may share it."""

    jobs: Jobs
    events: Events

    def __init__(
        self,
        *,
        api_key: str,
        base_url: str,
        timeout: Timeout = TIMEOUT_S,
        max_retries: int = MAX_RETRIES,
        max_retry_after: float = MAX_RETRY_AFTER_S,
        max_concurrent_requests: int = MAX_CONCURRENT_REQUESTS,
        http_client: httpx.Client | None = None,
        sleep: Callable[[float], object] = time.sleep,
        random: Callable[[], float] = random.random,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Creates a client. Close it, or use it in a `with` statement.

        base_url: the URL of the service, such as `https://waymark.example.com`.
        timeout: seconds for each attempt: for connecting, for sending, and for each wait for the response. A response
            that is not complete after that time in total is given up when more of it arrives. A timeout of httpx has
            only the limits that it names, and None has none.
        max_retries: further attempts after the first.
        max_retry_after: a response that asks for a longer wait, in seconds, raises its error instead.
        max_concurrent_requests: requests in flight at the same time, of all threads; further ones wait in a queue.
        http_client: your own client of httpx, for proxies or certificates. You close it.
        sleep, random, clock: replace them in tests.
        """
        policy = RetryPolicy(max_retries, max_retry_after, random)
        connection = _connect(api_key, base_url, timeout, policy)
        permits = threading.Semaphore(_permits(max_concurrent_requests))
        self._owns_http = http_client is None
        self._use(Driver(connection, http_client or httpx.Client(), sleep, permits, Pause(clock, random)))

    def _use(self, driver: Driver) -> None:
        self._driver = driver
        super().__init__(driver)
        self.jobs = Jobs(driver)
        self.events = Events(driver)

    def with_options(
        self: WaymarkType, *, timeout: Timeout | Unset = UNSET, max_retries: int | Unset = UNSET
    ) -> WaymarkType:
        """Returns a client with other options for some calls, such as `with_options(timeout=5).jobs.get(number)`.

        It shares the connections, which only this client closes, and the limit of requests in flight.
        """
        other = copy.copy(self)
        other._owns_http = False
        other._use(
            replace(self._driver, connection=self._driver.connection.with_options(timeout, max_retries))
        )
        return other

    def close(self) -> None:
        """Closes the connections."""
        if self._owns_http:
            self._driver.http.close()

    def __enter__(self: WaymarkType) -> WaymarkType:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncWaymark(resources.AsyncResources):
    """The API of one Waymark service, for one API key, with `async` methods. Tasks may share it."""

    jobs: AsyncJobs
    events: AsyncEvents

    def __init__(
        self,
        *,
        api_key: str,
        base_url: str,
        timeout: Timeout = TIMEOUT_S,
        max_retries: int = MAX_RETRIES,
        max_retry_after: float = MAX_RETRY_AFTER_S,
        max_concurrent_requests: int = MAX_CONCURRENT_REQUESTS,
        http_client: httpx.AsyncClient | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        random: Callable[[], float] = random.random,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Creates a client. Close it, or use it in an `async with` statement. The arguments are those of `Waymark`."""
        policy = RetryPolicy(max_retries, max_retry_after, random)
        connection = _connect(api_key, base_url, timeout, policy)
        permits = asyncio.Semaphore(_permits(max_concurrent_requests))
        self._owns_http = http_client is None
        http = http_client or httpx.AsyncClient()
        self._use(AsyncDriver(connection, http, sleep, permits, Pause(clock, random)))

    def _use(self, driver: AsyncDriver) -> None:
        self._driver = driver
        super().__init__(driver)
        self.jobs = AsyncJobs(driver)
        self.events = AsyncEvents(driver)

    def with_options(
        self: AsyncWaymarkType, *, timeout: Timeout | Unset = UNSET, max_retries: int | Unset = UNSET
    ) -> AsyncWaymarkType:
        """Returns a client with other options for some calls, such as `with_options(timeout=5).jobs.get(number)`.

        It shares the connections, which only this client closes, and the limit of requests in flight.
        """
        other = copy.copy(self)
        other._owns_http = False
        other._use(
            replace(self._driver, connection=self._driver.connection.with_options(timeout, max_retries))
        )
        return other

    async def aclose(self) -> None:
        """Closes the connections."""
        if self._owns_http:
            await self._driver.http.aclose()

    async def __aenter__(self: AsyncWaymarkType) -> AsyncWaymarkType:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
