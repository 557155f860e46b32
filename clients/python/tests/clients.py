"""Runs the same calls through the blocking and the async client, with waits that are recorded and not waited."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import httpx

from waymark_client import AsyncWaymark, Waymark

KEY = "wmk_" + "k" * 20

Use = Callable[[Any], Any]
"""Calls a method of a client and returns its result, an awaitable or an async iterator."""


def _determined(waits: list[float]) -> dict[str, Any]:
    """Returns options for the same waits in each run, on a clock that only the waits advance."""
    return {"random": lambda: 1.0, "clock": lambda: sum(waits)}


def _blocking(url: str, use: Use, waits: list[float], options: dict[str, Any]) -> Any:
    settings = {"api_key": KEY, "base_url": url, "sleep": waits.append, **_determined(waits), **options}
    # Without TLS, whose settings take long to load.
    with httpx.Client(verify=False) as http:
        result = use(Waymark(http_client=http, **settings))
        return list(result) if inspect.isgenerator(result) else result


def _async(url: str, use: Use, waits: list[float], options: dict[str, Any]) -> Any:
    async def record(seconds: float) -> None:
        waits.append(seconds)

    settings = {"api_key": KEY, "base_url": url, "sleep": record, **_determined(waits), **options}

    async def run() -> Any:
        async with httpx.AsyncClient(verify=False) as http:
            result = use(AsyncWaymark(http_client=http, **settings))
            return [item async for item in result] if inspect.isasyncgen(result) else await result

    return asyncio.run(run())


BOTH = {"Waymark": _blocking, "AsyncWaymark": _async}
