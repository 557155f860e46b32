"""Makes many changes at once and prints the waits of the client. The task is JSON in the variable TASK."""

from __future__ import annotations

import asyncio
import json
import os
import time
from contextvars import ContextVar

import httpx

from waymark_client import AsyncWaymark
from waymark_client.models import JobPatch

CONCURRENCY = 40
# Real waits are shorter than those that the client asks for, so that the test takes minutes and not hours.
MAX_REAL_WAIT_S = 0.25

waits: list[tuple[float, float]] = []
# The part of the waits that was not waited.
skipped = 0.0
retry_after: ContextVar[float] = ContextVar("retry_after", default=0)


async def remember(response: httpx.Response) -> None:
    retry_after.set(float(response.headers.get("retry-after", 0)))


def clock() -> float:
    return time.monotonic() + skipped


async def record(seconds: float) -> None:
    global skipped
    waits.append((retry_after.get(), seconds))
    retry_after.set(0)
    until = clock() + seconds
    await asyncio.sleep(min(seconds, MAX_REAL_WAIT_S))
    skipped += max(0.0, until - clock())


async def main() -> None:
    task = json.loads(os.environ["TASK"])
    numbers = task["markingNumbers"]
    changes = iter(range(1, task["changes"] + 1))
    async with httpx.AsyncClient(event_hooks={"response": [remember]}) as http:
        waymark = AsyncWaymark(
            api_key=task["key"],
            base_url=task["baseUrl"],
            http_client=http,
            sleep=record,
            clock=clock,
            max_concurrent_requests=CONCURRENCY,
            timeout=task["timeoutMs"] / 1000,
            # On a busy machine, attempts can also end by the timeout.
            max_retries=50,
        )

        async def work() -> None:
            for change in changes:
                await waymark.jobs.update(numbers[change % len(numbers)], JobPatch(weight=change))

        await asyncio.gather(*(work() for _ in range(CONCURRENCY)))
    print(json.dumps({"waits": waits}))


asyncio.run(main())
