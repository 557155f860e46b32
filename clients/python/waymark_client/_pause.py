"""The wait that the server asks for, which all requests of a client share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import httpx

from ._errors import retry_after_of

# The server tells a partner, not a request, to wait with these.
SHARED_WAIT_STATUSES = frozenset({429, 503})


class Pause:
    """The time until which the client sends no requests. Threads may share it."""

    def __init__(self, clock: Callable[[], float], random: Callable[[], float]) -> None:
        self._clock = clock
        self._random = random
        self._lock = threading.Lock()
        self._until = float("-inf")
        # Each request waits for a random part of it in addition, so that they don't start together.
        self._spread = 0.0

    def extend(self, outcome: httpx.Response | httpx.RequestError, max_seconds: float) -> None:
        """Extends the pause if a response asks for it. A wait above `max_seconds` is for its caller to decide."""
        if not isinstance(outcome, httpx.Response) or outcome.status_code not in SHARED_WAIT_STATUSES:
            return
        seconds = retry_after_of(outcome.headers) or 0.0
        with self._lock:
            until = self._clock() + seconds
            if 0 < seconds <= max_seconds and until > self._until:
                self._until = until
                self._spread = seconds / 5

    def waits(self) -> Iterator[float]:
        """Yields the seconds to wait before a request, and again if another response has extended the pause meanwhile."""
        waited_until = float("-inf")
        while True:
            with self._lock:
                until, spread = self._until, self._spread
            seconds = until - self._clock()
            if until <= waited_until or seconds <= 0:
                return
            waited_until = until
            yield seconds + self._random() * spread
