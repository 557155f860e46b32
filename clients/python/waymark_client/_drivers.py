"""Execute steps: one driver blocks, the other awaits. The rules are in the steps."""

from __future__ import annotations

import asyncio
import inspect
import math
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, cast

import httpx

from ._calls import Call, Emit, Headers, RetryPolicy, Run, Send, Step, Steps, Wait, perform
from ._model import UNSET, Unset
from ._pages import every_item
from ._pause import Pause

T = TypeVar("T")


@dataclass(frozen=True)
class Connection:
    """What a request needs besides the operation."""

    base_url: str
    headers: dict[str, str] = field(repr=False)
    timeout: float | httpx.Timeout | None
    policy: RetryPolicy

    def deadline(self) -> float:
        """Returns the end of an attempt that starts now, on the monotonic clock. A timeout of httpx has none."""
        if isinstance(self.timeout, (int, float)):
            return time.monotonic() + self.timeout
        return math.inf

    def with_options(
        self, timeout: float | httpx.Timeout | None | Unset, max_retries: int | Unset
    ) -> Connection:
        """Returns a connection with the options that are set."""
        policy = self.policy if max_retries is UNSET else replace(self.policy, max_retries=max_retries)
        return replace(self, timeout=self.timeout if timeout is UNSET else timeout, policy=policy)

    def arguments(self, send: Send) -> dict[str, Any]:
        """Returns the arguments of httpx for a request."""
        call = send.call
        return {
            "method": call.method,
            "url": self.base_url + call.url(),
            "params": call.params(),
            "json": call.json(),
            "headers": {**self.headers, **send.headers},
            "timeout": self.timeout,
            "follow_redirects": False,
        }


class _TimedBody(httpx.SyncByteStream, httpx.AsyncByteStream):
    """The body of a response until a deadline. httpx limits each read, but not all of them together."""

    def __init__(self, stream: Any, deadline: float) -> None:
        self._stream = stream
        self._deadline = deadline

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._stream:
            self._check()
            yield chunk

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            self._check()
            yield chunk

    def _check(self) -> None:
        if time.monotonic() > self._deadline:
            raise httpx.ReadTimeout("The response was not complete in time")

    def close(self) -> None:
        self._stream.close()

    async def aclose(self) -> None:
        await self._stream.aclose()


@dataclass(frozen=True)
class Driver:
    """Executes steps in the calling thread."""

    connection: Connection
    http: httpx.Client
    sleep: Callable[[float], object]
    permits: threading.Semaphore
    """Bounds the requests in flight."""
    pause: Pause

    def call(self, call: Call[T], headers: Headers = None) -> T:
        """Sends a request, with retries."""
        return self.run(perform(call.with_headers(headers), self.connection.policy))

    def items(self, get_page: Callable[..., Call[Any]], parameter: str, headers: Headers) -> Iterator[Any]:
        """Returns the items of all pages."""
        return self.iterate(every_item(get_page, parameter, self.connection.policy, headers))

    def run(self, steps: Steps[T]) -> T:
        """Returns the result of the steps."""
        outcome: Any = None
        while True:
            try:
                step = steps.send(outcome)
            except StopIteration as end:
                return cast(T, end.value)
            outcome = self._execute(step)

    def iterate(self, steps: Steps[Any]) -> Iterator[Any]:
        """Returns the items that the steps emit."""
        outcome: Any = None
        while True:
            try:
                step = steps.send(outcome)
            except StopIteration:
                return
            if isinstance(step, Emit):
                outcome = None
                yield step.item
            else:
                outcome = self._execute(step)

    def _execute(self, step: Step) -> Any:
        if isinstance(step, Send):
            with self.permits:
                for seconds in self.pause.waits():
                    self.sleep(seconds)
                outcome = self._send(step)
                # Before the permit is released: the next request must not start.
                self.pause.extend(outcome, self.connection.policy.max_retry_after)
                return outcome
        if isinstance(step, Wait):
            return self.sleep(step.seconds)
        if isinstance(step, Run):
            return step.function(*step.args)
        raise TypeError(f"{type(step).__name__} is not possible here")

    def _send(self, step: Send) -> httpx.Response | httpx.RequestError:
        deadline = self.connection.deadline()
        try:
            with self.http.stream(**self.connection.arguments(step)) as response:
                response.stream = _TimedBody(response.stream, deadline)
                response.read()
                return response
        except httpx.RequestError as error:
            return error


@dataclass(frozen=True)
class AsyncDriver:
    """Executes steps in the calling task. Cancelling the task cancels the request or the wait."""

    connection: Connection
    http: httpx.AsyncClient
    sleep: Callable[[float], Awaitable[object]]
    permits: asyncio.Semaphore
    """Bounds the requests in flight."""
    pause: Pause

    async def call(self, call: Call[T], headers: Headers = None) -> T:
        """Sends a request, with retries."""
        return await self.run(perform(call.with_headers(headers), self.connection.policy))

    def items(
        self, get_page: Callable[..., Call[Any]], parameter: str, headers: Headers
    ) -> AsyncIterator[Any]:
        """Returns the items of all pages."""
        return self.iterate(every_item(get_page, parameter, self.connection.policy, headers))

    async def run(self, steps: Steps[T]) -> T:
        """Returns the result of the steps."""
        outcome: Any = None
        while True:
            try:
                step = steps.send(outcome)
            except StopIteration as end:
                return cast(T, end.value)
            outcome = await self._execute(step)

    async def iterate(self, steps: Steps[Any]) -> AsyncIterator[Any]:
        """Returns the items that the steps emit."""
        outcome: Any = None
        while True:
            try:
                step = steps.send(outcome)
            except StopIteration:
                return
            if isinstance(step, Emit):
                outcome = None
                yield step.item
            else:
                outcome = await self._execute(step)

    async def _execute(self, step: Step) -> Any:
        if isinstance(step, Send):
            async with self.permits:
                for seconds in self.pause.waits():
                    await self.sleep(seconds)
                outcome = await self._send(step)
                # Before the permit is released: the next request must not start.
                self.pause.extend(outcome, self.connection.policy.max_retry_after)
                return outcome
        if isinstance(step, Wait):
            return await self.sleep(step.seconds)
        if isinstance(step, Run):
            result = step.function(*step.args)
            return await result if inspect.isawaitable(result) else result
        raise TypeError(f"{type(step).__name__} is not possible here")

    async def _send(self, step: Send) -> httpx.Response | httpx.RequestError:
        deadline = self.connection.deadline()
        try:
            async with self.http.stream(**self.connection.arguments(step)) as response:
                response.stream = _TimedBody(response.stream, deadline)
                await response.aread()
                return response
        except httpx.RequestError as error:
            return error
