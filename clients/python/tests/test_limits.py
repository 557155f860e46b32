"""How the clients bound their requests in flight, and share the waits that the server asks for."""

from __future__ import annotations

import asyncio
import threading
import unittest
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
from clients import KEY
from scripted_server import Answer, ScriptedServer, failure

from waymark_client import AsyncWaymark, MemoryCursorStore, Waymark, errors
from waymark_client._pause import Pause

FOUND = Answer(data={"id": "job_1", "marking_number": "WM-1"})
# The waits of other requests are longer by a fifth, because `random` returns 1.
LIMITED = failure(429, "TooManyRequestsException", Retry_After="10")
UNAVAILABLE = failure(503, "ServiceUnavailableException", Retry_After="10")


def limited_for(seconds: int) -> httpx.Response:
    return httpx.Response(429, headers={"retry-after": str(seconds)})


class Clients:
    """A blocking and an async client of a server, which wait on a clock that only their waits advance."""

    def __init__(self, server: ScriptedServer, **options: Any) -> None:
        self.server = server
        self.options = {"api_key": KEY, "base_url": server.url, "max_retries": 0, **options}

    def get_in_threads(self, count: int) -> tuple[list[Any], list[float]]:
        """Reads a job in each of `count` threads. Returns the results or errors, and the waits."""
        waits: list[float] = []
        with Waymark(**self.options, **self.determined(waits), sleep=waits.append) as waymark:

            def get(_: int) -> Any:
                try:
                    return waymark.jobs.get("WM-1")
                except errors.ApiError as error:
                    return error

            with ThreadPoolExecutor(count) as threads:
                return list(threads.map(get, range(count))), waits

    def get_in_tasks(self, count: int) -> tuple[list[Any], list[float]]:
        """Reads a job in each of `count` tasks. Returns the results or errors, and the waits."""
        waits: list[float] = []

        async def record(seconds: float) -> None:
            waits.append(seconds)

        async def run() -> list[Any]:
            async with AsyncWaymark(**self.options, **self.determined(waits), sleep=record) as waymark:
                calls = (waymark.jobs.get("WM-1") for _ in range(count))
                return await asyncio.gather(*calls, return_exceptions=True)

        return asyncio.run(run()), waits

    @staticmethod
    def determined(waits: list[float]) -> dict[str, Any]:
        return {"random": lambda: 1.0, "clock": lambda: sum(waits)}


BOTH = {"Waymark": Clients.get_in_threads, "AsyncWaymark": Clients.get_in_tasks}


class InFlight(unittest.TestCase):
    def test_requests_in_flight_are_bounded(self) -> None:
        limits: list[tuple[dict[str, Any], int]] = [({}, 5), ({"max_concurrent_requests": 2}, 2)]
        for name, get in BOTH.items():
            for options, expected in limits:
                release = threading.Event()
                held = Answer(data=FOUND.data, hold=release)
                with self.subTest(name, **options), ScriptedServer(held) as server:
                    opener = threading.Thread(target=lambda: (server.wait_for(expected), release.set()))
                    opener.start()
                    results, _ = get(Clients(server, **options), 12)
                    opener.join()
                    self.assertEqual([result.id for result in results], ["job_1"] * 12)
                    self.assertEqual(server.most_in_flight, expected)

    def test_a_limit_below_one_is_refused(self) -> None:
        for client in (Waymark, AsyncWaymark):
            with self.assertRaisesRegex(ValueError, "max_concurrent_requests must be at least 1, got 0"):
                client(api_key=KEY, base_url="http://127.0.0.1", max_concurrent_requests=0)

    def test_a_cancelled_task_leaves_the_queue(self) -> None:
        release = threading.Event()

        async def run(url: str) -> None:
            async with AsyncWaymark(api_key=KEY, base_url=url, max_concurrent_requests=1) as waymark:
                first = asyncio.create_task(waymark.jobs.get("A"))
                while not server.received:
                    await asyncio.sleep(0)
                cancelled = asyncio.create_task(waymark.jobs.get("B"))
                await asyncio.sleep(0)
                cancelled.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await cancelled
                last = asyncio.create_task(waymark.jobs.get("C"))
                release.set()
                await asyncio.gather(first, last)

        with ScriptedServer(Answer(data={}, hold=release), FOUND) as server:
            asyncio.run(run(server.url))
            self.assertEqual([request.path[-1] for request in server.received], ["A", "C"])

    def test_a_follower_that_waits_for_events_is_not_in_flight(self) -> None:
        feed = Answer(data={"items": [], "next_cursor": "c", "has_more": False})
        arguments = {"reconcile": print, "stop": lambda: len(server.received) > 1}

        with ScriptedServer(feed, FOUND) as server:
            blocking = Waymark(
                api_key=KEY,
                base_url=server.url,
                max_concurrent_requests=1,
                sleep=lambda _: blocking.jobs.get("WM-1"),
            )
            self.assertEqual(list(blocking.events.follow(store=MemoryCursorStore("c"), **arguments)), [])
            blocking.close()

        async def run() -> list[Any]:
            async def sleep(_: float) -> None:
                await waymark.jobs.get("WM-1")

            options = {"base_url": server.url, "max_concurrent_requests": 1, "sleep": sleep}
            async with AsyncWaymark(api_key=KEY, **options) as waymark:
                return [
                    event async for event in waymark.events.follow(store=MemoryCursorStore("c"), **arguments)
                ]

        with ScriptedServer(feed, FOUND) as server:
            self.assertEqual(asyncio.run(run()), [])


class RetryAfter(unittest.TestCase):
    def test_it_delays_a_request_in_the_queue(self) -> None:
        for name, get in BOTH.items():
            for answer in (LIMITED, UNAVAILABLE):
                with self.subTest(name, status=answer.status), ScriptedServer(answer, FOUND) as server:
                    results, waits = get(Clients(server, max_concurrent_requests=1), 3)
                    self.assertEqual(sum(isinstance(each, errors.ApiError) for each in results), 1)
                    # The third request starts after the time.
                    self.assertEqual(waits, [12])

    def test_it_delays_nothing_if_the_client_does_not_wait_for_it(self) -> None:
        for answer in [
            failure(429, "TooManyRequestsException"),
            failure(429, "TooManyRequestsException", Retry_After="61"),
            failure(500, "InternalServerErrorException", Retry_After="10"),
        ]:
            for name, get in BOTH.items():
                with self.subTest(name, status=answer.status), ScriptedServer(answer, FOUND) as server:
                    _, waits = get(Clients(server, max_concurrent_requests=1), 3)
                    self.assertEqual((waits, len(server.received)), ([], 3))

    def test_it_delays_a_request_that_has_its_own_wait(self) -> None:
        waits: list[float] = []

        def sleep(seconds: float) -> None:
            waits.append(seconds)
            if len(waits) == 1:
                # Another client with its own options shares the limits.
                with self.assertRaises(errors.TooManyRequestsError):
                    waymark.with_options(max_retries=0).jobs.get("B")

        answers = (failure(500, "InternalServerErrorException"), LIMITED, FOUND)
        with ScriptedServer(*answers) as server:
            waymark = Waymark(api_key=KEY, base_url=server.url, sleep=sleep, **Clients.determined(waits))
            waymark.jobs.get("A")
            waymark.close()
        self.assertEqual([request.path[-1] for request in server.received], ["A", "B", "A"])
        self.assertEqual(waits, [0.5, 12])

    def test_it_delays_a_request_that_has_its_own_wait_in_a_task(self) -> None:
        waits: list[float] = []

        async def sleep(seconds: float) -> None:
            waits.append(seconds)
            if len(waits) == 1:
                with self.assertRaises(errors.TooManyRequestsError):
                    await waymark.with_options(max_retries=0).jobs.get("B")

        async def run() -> None:
            await waymark.jobs.get("A")
            await waymark.aclose()

        answers = (failure(500, "InternalServerErrorException"), LIMITED, FOUND)
        with ScriptedServer(*answers) as server:
            waymark = AsyncWaymark(api_key=KEY, base_url=server.url, sleep=sleep, **Clients.determined(waits))
            asyncio.run(run())
        self.assertEqual(waits, [0.5, 12])

    def test_the_longest_of_several_counts_and_requests_are_spread_out(self) -> None:
        numbers = iter([0.0, 0.5, 1.0])
        now = 0.0
        pause = Pause(lambda: now, lambda: next(numbers))
        pause.extend(limited_for(10), 60)
        first, second = pause.waits(), pause.waits()
        self.assertEqual((next(first), next(second)), (10, 11))
        pause.extend(limited_for(30), 60)
        pause.extend(limited_for(1), 60)
        self.assertEqual(next(first), 36)
        now = 36.0
        self.assertEqual((list(first), list(second), list(pause.waits())), ([], [], []))


if __name__ == "__main__":
    unittest.main()
