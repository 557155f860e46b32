"""Follows the events feed and keeps the position in a store, as steps."""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from ._calls import Emit, Headers, RetryPolicy, Run, Steps, Wait, is_temporary, perform
from ._errors import ApiError, NoResponseError
from ._generated import operations
from ._generated.errors import GoneError
from ._generated.models import Event, Feed
from ._model import UNSET, Unset

logger = logging.getLogger("waymark_client")

MAX_OUTAGE_WAIT_S = 60.0
MIN_POLL_INTERVAL_S = 1.0
DAY_S = 86_400.0


class CursorStore(Protocol):
    """Where `events.follow` keeps its position. Both methods may be `async` with `AsyncWaymark`."""

    def load(self) -> str | None | Awaitable[str | None]:
        """Returns the saved cursor, or None if there is none."""

    def save(self, cursor: str) -> object:
        """Saves the cursor. Called after you have processed the events before it."""


class MemoryCursorStore:
    """Keeps the cursor until the process ends."""

    def __init__(self, cursor: str | None = None) -> None:
        self.cursor = cursor

    def load(self) -> str | None:
        """Returns the saved cursor, or None if there is none."""
        return self.cursor

    def save(self, cursor: str) -> None:
        """Saves the cursor."""
        self.cursor = cursor


class FileCursorStore:
    """Keeps the cursor in a file, which it replaces at once, so that a crash leaves the former cursor."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def load(self) -> str | None:
        """Returns the saved cursor, or None if the file is absent or empty."""
        try:
            return self.path.read_text("utf-8").strip() or None
        except FileNotFoundError:
            return None

    def save(self, cursor: str) -> None:
        """Saves the cursor."""
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=self.path.parent, delete=False) as file:
            file.write(cursor)
            file.flush()
            os.fsync(file.fileno())
        os.replace(file.name, self.path)


@dataclass(frozen=True)
class Gap:
    """Why your copy may lack changes, and needs a reconciliation with `jobs.list`."""

    reason: Literal["no_cursor", "expired_cursor"]
    """`no_cursor`: the store is empty. `expired_cursor`: events after the cursor have left the feed (410)."""
    error: ApiError | None = None
    """The 410 of an expired cursor."""


Reconcile = Callable[[Gap], Any]


@dataclass(frozen=True)
class EventPage:
    """A page of the feed."""

    events: list[Event]
    """Empty if the page only moves the cursor: after `reconcile`, and past events of other types."""
    cursor: str
    """Pass it as `after` to continue after these events."""


@dataclass(frozen=True)
class Following:
    """The arguments of `events.follow` and `events.follow_pages`."""

    reconcile: Reconcile
    types: Sequence[Any] | Unset
    """Any texts: the server refuses unknown ones."""
    poll_interval: float
    stop: Callable[[], bool]
    headers: Headers


class _Stopped(Exception):
    """`stop` returned true."""


def follow(following: Following, store: CursorStore, policy: RetryPolicy) -> Steps[None]:
    """Emits new events until `stop` is true. Saves the position after each page, when its events have been processed."""

    def deliver(page: EventPage) -> Steps[None]:
        for event in page.events:
            yield Emit(event)
        yield Run(store.save, (page.cursor,))

    cursor = yield Run(store.load)
    yield from _follow(following, cursor, policy, deliver)


def follow_pages(following: Following, after: str | None, policy: RetryPolicy) -> Steps[None]:
    """Emits new pages until `stop` is true."""

    def deliver(page: EventPage) -> Steps[None]:
        yield Emit(page)

    yield from _follow(following, after, policy, deliver)


Deliver = Callable[[EventPage], Steps[None]]


def _follow(following: Following, cursor: str | None, policy: RetryPolicy, deliver: Deliver) -> Steps[None]:
    try:
        if cursor is None:
            cursor = yield from _reconcile(following, Gap("no_cursor"), policy, deliver)
        while True:
            try:
                page = yield from _read_page(following, cursor, policy)
            except GoneError as error:
                cursor = yield from _reconcile(following, Gap("expired_cursor", error), policy, deliver)
                continue
            # A page without events can move the cursor too.
            if isinstance(page.next_cursor, str) and page.next_cursor != cursor:
                cursor = page.next_cursor
                yield from deliver(EventPage(page.items, cursor))
            if not page.has_more:
                yield from _wait(following, max(MIN_POLL_INTERVAL_S, following.poll_interval))
    except _Stopped:
        return


def _reconcile(following: Following, gap: Gap, policy: RetryPolicy, deliver: Deliver) -> Steps[str | None]:
    """Takes a position first, so that the feed has each change that happens during the reconciliation."""
    page = yield from _read_page(following, "latest", policy)
    yield Run(following.reconcile, (gap,))
    if isinstance(page.next_cursor, str):
        yield from deliver(EventPage([], page.next_cursor))
    return page.next_cursor


def _read_page(following: Following, cursor: str | None, policy: RetryPolicy) -> Steps[Feed]:
    """Outlasts an outage: repeats with a warning in the log, at most every 60 s, until the server responds.

    Raises _Stopped before a request if `stop` is true.
    """
    failures = 0
    while not following.stop():
        try:
            call = operations.list_events(after=cursor or UNSET, types=following.types, page_size=100)
            return (yield from perform(call.with_headers(following.headers), policy))
        except (ApiError, NoResponseError) as error:
            if not is_temporary(error):
                raise
            failures += 1
            retry_after = getattr(error, "retry_after", None) or 0.0
            seconds = max(retry_after, min(MAX_OUTAGE_WAIT_S, policy.backoff(failures) * 2))
            logger.warning("The events feed did not respond (%s). Next attempt in %.0f s.", error, seconds)
        yield from _wait(following, seconds)
    raise _Stopped


def _wait(following: Following, seconds: float) -> Steps[None]:
    """Ends early, between two days, if `stop` is true. `time.sleep` refuses to sleep for some centuries."""
    while seconds > 0 and not following.stop():
        yield Wait(min(seconds, DAY_S))
        seconds -= DAY_S
