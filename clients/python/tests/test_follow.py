"""Following the feed: the position, reconciliation after 410, outages."""

from __future__ import annotations

import asyncio
import tempfile
import unittest
from pathlib import Path
from typing import Any

from clients import BOTH, KEY
from scripted_server import Answer, ScriptedServer, failure

from waymark_client import AsyncWaymark, FileCursorStore, Gap, MemoryCursorStore, Waymark, errors


def feed(cursor: str | None, *ids: str, has_more: bool = False) -> Answer:
    return Answer(data={"items": [{"id": each} for each in ids], "next_cursor": cursor, "has_more": has_more})


def no_gap(gap: Gap) -> None:
    raise AssertionError(f"unexpected gap: {gap}")


class Follow(unittest.TestCase):
    def follow(
        self, run: Any, answers: list[Answer], **options: Any
    ) -> tuple[Any, ScriptedServer, list[float]]:
        """Follows until the server has given all its answers."""
        waits: list[float] = []
        count = len(answers)
        with ScriptedServer(*answers) as server:
            options = {"stop": lambda: len(server.received) >= count, "poll_interval": 5, **options}
            events = run(
                server.url, lambda waymark: waymark.events.follow(**options), waits, {"max_retries": 0}
            )
        return events, server, waits

    def test_it_continues_from_the_saved_cursor_and_polls(self) -> None:
        for run in BOTH.values():
            store = MemoryCursorStore("c0")
            answers = [feed("c1", "1", "2", has_more=True), feed("c1"), feed("c2", "3"), feed("c2")]
            events, server, waits = self.follow(run, answers, store=store, reconcile=no_gap, types=["a", "b"])
            self.assertEqual([event.id for event in events], ["1", "2", "3"])
            self.assertEqual((store.cursor, waits), ("c2", [5, 5]))
            self.assertEqual(server.received[0].path, "/v1/events?after=c0&types=a%2Cb&page_size=100")

    def test_the_first_start_reconciles_before_it_saves_a_position(self) -> None:
        for run in BOTH.values():
            store = MemoryCursorStore()
            gaps: list[tuple[Gap, str | None]] = []
            answers = [feed("now"), feed("c1", "1"), feed("c1")]
            events, server, _ = self.follow(
                run, answers, store=store, reconcile=lambda gap: gaps.append((gap, store.cursor))
            )
            self.assertEqual((gaps, len(events), store.cursor), ([(Gap("no_cursor"), None)], 1, "c1"))
            self.assertIn("after=latest", server.received[0].path)
            self.assertIn("after=now", server.received[1].path)

    def test_410_calls_for_a_reconciliation_and_continues(self) -> None:
        for run in BOTH.values():
            store = MemoryCursorStore("old")
            gaps: list[Gap] = []
            answers = [failure(410, "GoneException"), feed("now"), feed("c1", "1"), feed("c1")]
            events, server, _ = self.follow(run, answers, store=store, reconcile=gaps.append)
            self.assertEqual([gap.reason for gap in gaps], ["expired_cursor"])
            self.assertIsInstance(gaps[0].error, errors.GoneError)
            self.assertEqual(([event.id for event in events], store.cursor), (["1"], "c1"))

    def test_a_failed_reconciliation_saves_no_position(self) -> None:
        def fail(gap: Gap) -> None:
            raise RuntimeError("the mirror is full")

        for run in BOTH.values():
            store = MemoryCursorStore("old")
            with self.assertRaisesRegex(RuntimeError, "the mirror is full"):
                self.follow(run, [failure(410, "GoneException"), feed("now")], store=store, reconcile=fail)
            self.assertEqual(store.cursor, "old")

    def test_the_position_is_saved_after_the_events_of_a_page(self) -> None:
        store = MemoryCursorStore("c0")
        with ScriptedServer(feed("c1", "1", "2"), feed("c1")) as server:
            with Waymark(api_key=KEY, base_url=server.url, sleep=lambda _: None) as waymark:
                events = waymark.events.follow(
                    store=store, reconcile=no_gap, stop=lambda: len(server.received) > 1
                )
                seen = [(next(events).id, store.cursor), (next(events).id, store.cursor)]
                self.assertEqual((seen, list(events)), ([("1", "c0"), ("2", "c0")], []))
        self.assertEqual(store.cursor, "c1")

    def test_it_outlasts_an_outage_with_a_warning(self) -> None:
        for run in BOTH.values():
            answers = [
                failure(503, "ServiceUnavailableException", Retry_After="90"),
                Answer(is_cut=True),
                failure(500, "InternalServerErrorException"),
                feed("c1", "1"),
            ]
            with self.assertLogs("waymark_client", "WARNING") as logs:
                events, _, waits = self.follow(run, answers, store=MemoryCursorStore("c0"), reconcile=no_gap)
            self.assertEqual((len(events), waits, len(logs.records)), (1, [90, 2, 4], 3))
            self.assertNotIn(KEY, str(logs.output))

    def test_stop_ends_it_during_an_outage_without_an_error_and_without_another_request(self) -> None:
        down = failure(503, "ServiceUnavailableException")
        for run in BOTH.values():
            for store in (MemoryCursorStore("c0"), MemoryCursorStore()):
                with self.assertLogs("waymark_client", "WARNING"):
                    events, server, waits = self.follow(run, [down] * 3, store=store, reconcile=no_gap)
                self.assertEqual((events, len(server.received), waits), ([], 3, [1, 2]))
        for run in BOTH.values():
            waits = []
            with ScriptedServer(down) as server, self.assertLogs("waymark_client", "WARNING"):
                options = {
                    "store": MemoryCursorStore("c0"),
                    "reconcile": no_gap,
                    "stop": lambda waits=waits: bool(waits),
                }
                events = run(
                    server.url,
                    lambda waymark, options=options: waymark.events.follow(**options),
                    waits,
                    {"max_retries": 0},
                )
            self.assertEqual((events, len(server.received)), ([], 1))

    def test_a_long_retry_after_is_waited_in_days(self) -> None:
        for seconds, days in [("200000", [86_400, 86_400, 27_200]), ("9" * 400, [86_400] * 3)]:
            for run in BOTH.values():
                waits: list[float] = []
                answer = failure(503, "ServiceUnavailableException", Retry_After=seconds)
                options = {
                    "store": MemoryCursorStore("c0"),
                    "reconcile": no_gap,
                    "stop": lambda waits=waits: len(waits) == 3,
                }
                use = lambda waymark, options=options: waymark.events.follow(**options)
                with ScriptedServer(answer) as server, self.assertLogs("waymark_client", "WARNING"):
                    self.assertEqual(run(server.url, use, waits, {"max_retries": 0}), [])
                self.assertEqual((waits, len(server.received)), (days, 1))

    def test_a_stop_before_the_start_sends_no_request(self) -> None:
        for run in BOTH.values():
            with ScriptedServer(feed("now")) as server:
                options = {"store": MemoryCursorStore(), "reconcile": no_gap, "stop": lambda: True}
                use = lambda waymark, options=options: waymark.events.follow(**options)
                self.assertEqual(run(server.url, use, [], {}), [])
            self.assertEqual(server.received, [])

    def test_it_polls_at_most_once_a_second(self) -> None:
        for run in BOTH.values():
            for interval in (0, -1, 0.999, float("nan")):
                _, _, waits = self.follow(
                    run,
                    [feed("c1"), feed("c1")],
                    store=MemoryCursorStore("c0"),
                    reconcile=no_gap,
                    poll_interval=interval,
                )
                self.assertEqual(waits, [1])

    def test_a_refusal_ends_it(self) -> None:
        for run in BOTH.values():
            with self.assertRaises(errors.ForbiddenError):
                self.follow(
                    run,
                    [failure(403, "ForbiddenException"), feed("c")],
                    store=MemoryCursorStore("c0"),
                    reconcile=no_gap,
                )

    def test_the_async_client_awaits_store_and_reconcile(self) -> None:
        saved: list[str] = []

        class Store:
            async def load(self) -> str | None:
                return None

            async def save(self, cursor: str) -> None:
                saved.append(cursor)

        async def reconcile(gap: Gap) -> None:
            saved.append(gap.reason)

        async def run() -> None:
            async with AsyncWaymark(api_key=KEY, base_url=server.url) as waymark:
                async for _ in waymark.events.follow(
                    store=Store(), reconcile=reconcile, stop=lambda: len(saved) == 3
                ):
                    pass

        with ScriptedServer(feed("now"), feed("c1", "1", has_more=True)) as server:
            asyncio.run(run())
        self.assertEqual(saved, ["no_cursor", "now", "c1"])

    def test_a_file_keeps_the_cursor(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            store = FileCursorStore(Path(folder, "cursor"))
            self.assertIsNone(store.load())
            store.save("c1")
            store.save("c2")
            self.assertEqual(FileCursorStore(f"{folder}/cursor").load(), "c2")
            self.assertEqual([path.name for path in Path(folder).iterdir()], ["cursor"])


class FollowPages(unittest.TestCase):
    def follow(self, run: Any, answers: list[Answer], **options: Any) -> tuple[list[Any], ScriptedServer]:
        """Returns the IDs and the cursor of each page until the server has given all its answers."""
        count = len(answers)
        with ScriptedServer(*answers) as server:
            options = {"stop": lambda: len(server.received) >= count, **options}
            pages = run(server.url, lambda waymark: waymark.events.follow_pages(**options), [], {})
        return [([event.id for event in page.events], page.cursor) for page in pages], server

    def test_a_page_has_the_cursor_after_its_events(self) -> None:
        answers = [feed("c1", "1", "2", has_more=True), feed("c2", "3"), feed("c2"), feed("c3"), feed("c3")]
        for run in BOTH.values():
            pages, server = self.follow(run, answers, after="c0", reconcile=no_gap, types=["a"])
            # The last one moved past events of other types.
            self.assertEqual(pages, [(["1", "2"], "c1"), (["3"], "c2"), ([], "c3")])
            self.assertEqual(server.received[0].path, "/v1/events?after=c0&types=a&page_size=100")
            self.assertIn("after=c2", server.received[2].path)

    def test_the_first_page_after_a_reconciliation_has_the_cursor_to_continue_from(self) -> None:
        for run in BOTH.values():
            gaps: list[str] = []
            answers = [feed("now"), failure(410, "GoneException"), feed("later"), feed("c1", "1"), feed("c1")]
            pages, server = self.follow(
                run, answers, after=None, reconcile=lambda gap: gaps.append(gap.reason)
            )
            self.assertEqual(gaps, ["no_cursor", "expired_cursor"])
            self.assertEqual(pages, [([], "now"), ([], "later"), (["1"], "c1")])
            self.assertIn("after=latest", server.received[0].path)
            self.assertIn("after=later", server.received[3].path)

    def test_the_async_reconcile_is_awaited(self) -> None:
        reconciled: list[str] = []

        async def reconcile(gap: Gap) -> None:
            reconciled.append(gap.reason)

        self.follow(BOTH["AsyncWaymark"], [feed("now")], after=None, reconcile=reconcile)
        self.assertEqual(reconciled, ["no_cursor"])


if __name__ == "__main__":
    unittest.main()
