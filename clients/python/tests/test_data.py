"""How requests are written and responses read: null and absent, new fields, codes and event types, pages, batches."""

from __future__ import annotations

import asyncio
import inspect
import unittest
from collections.abc import AsyncIterator
from datetime import date, datetime, timedelta, timezone
from operator import attrgetter
from typing import Any

from clients import BOTH, KEY
from scripted_server import Answer, ScriptedServer, failure

from waymark_client import UNSET, AsyncWaymark, MemoryCursorStore, Waymark
from waymark_client._generated.resources import METHODS
from waymark_client.models import (
    BatchItem,
    Event,
    Job,
    JobPatch,
    WebhookDelivery,
    WebhookDeliveryDetail,
)


class Bodies(unittest.TestCase):
    def sent(self, body: Any) -> Any:
        with ScriptedServer(Answer(data={})) as server, Waymark(api_key=KEY, base_url=server.url) as waymark:
            waymark.jobs.update("WM-1", body)
        return server.received[0].body

    def test_none_is_sent_and_unset_is_not(self) -> None:
        self.assertEqual(self.sent(JobPatch(weight=None, labels="cold")), {"weight": None, "labels": "cold"})
        self.assertEqual(self.sent({"weight": None, "labels": UNSET}), {"weight": None})

    def test_dates_are_sent_as_text(self) -> None:
        self.assertEqual(
            self.sent(JobPatch(scheduled_date=date(2026, 12, 1))), {"scheduled_date": "2026-12-01"}
        )
        self.assertEqual(self.sent({"scheduled_date": date(2026, 12, 1)}), {"scheduled_date": "2026-12-01"})

    def test_a_new_field_can_be_sent(self) -> None:
        patch = JobPatch(weight=1, additional_properties={"colour": None})
        self.assertEqual(self.sent(patch), {"weight": 1, "colour": None})


class Requests(unittest.TestCase):
    def request(self, use: Any) -> Any:
        with ScriptedServer(Answer(data={"items": []})) as server:
            with Waymark(api_key=KEY, base_url=f"{server.url}/v1/") as waymark:
                use(waymark)
        return server.received[0]

    def test_parameters_are_encoded(self) -> None:
        since = datetime(2026, 11, 21, 8, tzinfo=timezone(timedelta(hours=1)))
        received = self.request(
            lambda waymark: waymark.jobs.list_page(updated_since=since, q="a&b", page_size=5)
        )
        self.assertEqual(
            received.path, "/v1/jobs?page_size=5&updated_since=2026-11-21T08%3A00%3A00.000%2B01%3A00&q=a%26b"
        )
        received = self.request(
            lambda waymark: waymark.events.list_page(types=["job.created", "job.updated"])
        )
        self.assertEqual(received.path, "/v1/events?types=job.created%2Cjob.updated")
        for statuses in ("failed,on_hold", ["failed", "on_hold"]):
            received = self.request(
                lambda waymark, statuses=statuses: waymark.jobs.list_page(
                    normalized_status=statuses, category=["open"], created_at_from=date(2026, 11, 1)
                )
            )
            self.assertEqual(
                received.path,
                "/v1/jobs?normalized_status=failed%2Con_hold&category=open&created_at_from=2026-11-01",
            )
        received = self.request(lambda waymark: waymark.jobs.update("1", {}, dry_run=True))
        self.assertEqual(received.path, "/v1/jobs/by-marking/1?dry_run=true")

    def test_a_path_parameter_stays_one_segment(self) -> None:
        for number, segment in [("a/b", "a%2Fb"), ("..", "%2E%2E"), ("ä b?#%", "%C3%A4%20b%3F%23%25")]:
            received = self.request(lambda waymark, number=number: waymark.jobs.get(number))
            self.assertEqual(received.path, f"/v1/jobs/by-marking/{segment}")

    def test_an_empty_path_parameter_sends_no_request(self) -> None:
        # Without it, the path would be the one of the list.
        for name, run in BOTH.items():
            for value in ("", None, UNSET):
                with self.subTest(name, value=value), ScriptedServer(Answer(data={"items": []})) as server:
                    with self.assertRaisesRegex(ValueError, "id must not be empty"):
                        run(server.url, lambda waymark, v=value: waymark.webhooks.get_endpoint(v), [], {})
                    self.assertEqual(server.received, [])


class Responses(unittest.TestCase):
    def test_times_are_read(self) -> None:
        job = Job.from_dict(
            {"created_at": "2026-11-21T09:15:42.318Z", "scheduled_date": "2026-12-01", "weight": None}
        )
        self.assertEqual(job.created_at, datetime(2026, 11, 21, 9, 15, 42, 318_000, timezone.utc))
        self.assertEqual((job.scheduled_date, job.weight), (date(2026, 12, 1), None))

    def test_new_fields_codes_and_types_are_kept(self) -> None:
        data = {
            "id": "evt_1",
            "type": "parcel.melted",
            "timestamp": "some day",
            "data": {"parcel": {"id": 1}, "actor": "the sun", "changes": {"weight": None}},
        }
        event = Event.from_dict(data)
        self.assertEqual(
            (event.type, event.data.additional_properties), ("parcel.melted", {"parcel": {"id": 1}})
        )
        self.assertIs(event.api_version, UNSET)
        self.assertEqual(event.to_dict(), data)

    def test_a_delivery_with_its_attempts_is_a_delivery(self) -> None:
        self.assertTrue(issubclass(WebhookDeliveryDetail, WebhookDelivery))
        detail = WebhookDeliveryDetail.from_dict({"id": "dlv_1", "outcome": None, "attempts": []})
        self.assertEqual((detail.id, detail.outcome, detail.attempts), ("dlv_1", None, []))
        self.assertEqual(detail.to_dict(), {"id": "dlv_1", "outcome": None, "attempts": []})

    def test_what_is_read_can_be_written(self) -> None:
        data = {"marking_number": "1", "weight": None, "scheduled_date": "2026-12-01", "new": [{"a": None}]}
        self.assertEqual(BatchItem.from_dict(data).to_dict(), data)
        for time in ["2026-11-21T09:15:42.318Z", "2026-11-21T09:15:42.000Z", "2026-11-21T09:15:42.318001Z"]:
            self.assertEqual(Job.from_dict({"created_at": time}).to_dict(), {"created_at": time})


def page(items: list[Any], cursor: str | None) -> Answer:
    return Answer(data={"items": items, "pagination": {"next_cursor": cursor, "total": 3}})


class Pages(unittest.TestCase):
    def test_a_list_reads_pages_until_the_last(self) -> None:
        for name, run in BOTH.items():
            with (
                self.subTest(name),
                ScriptedServer(page([{"id": "1"}, {"id": "2"}], "c1"), page([{"id": "3"}], None)) as server,
            ):
                jobs = run(server.url, lambda waymark: waymark.jobs.list(sort="created_at"), [], {})
                self.assertEqual([job.id for job in jobs], ["1", "2", "3"])
                paths = [request.path for request in server.received]
                self.assertEqual(
                    paths,
                    [
                        "/v1/jobs?page_size=100&sort=created_at",
                        "/v1/jobs?page_size=100&cursor=c1&sort=created_at",
                    ],
                )

    def test_a_list_by_page_number_ends_at_the_total(self) -> None:
        def numbered(number: int) -> Answer:
            position = {"page": number, "page_size": 2, "total": 3}
            return Answer(data={"items": [{"id": f"evt_{number}"}], "pagination": position})

        for name, run in BOTH.items():
            with self.subTest(name), ScriptedServer(numbered(1), numbered(2)) as server:
                entries = run(server.url, lambda waymark: waymark.jobs.list_history("WM-1"), [], {})
                self.assertEqual([entry.id for entry in entries], ["evt_1", "evt_2"])
                self.assertEqual(len(server.received), 2)

    def test_a_list_by_page_number_has_each_item_once_although_new_ones_move_the_pages(self) -> None:
        def numbered(number: int, total: int, *ids: str) -> Answer:
            position = {"page": number, "page_size": 2, "total": total}
            return Answer(data={"items": [{"id": each} for each in ids], "pagination": position})

        answers = [numbered(1, 4, "d", "c"), numbered(2, 5, "c", "b"), numbered(3, 5, "a")]
        for name, run in BOTH.items():
            with self.subTest(name), ScriptedServer(*answers) as server:
                entries = run(server.url, lambda waymark: waymark.jobs.list_history("WM-1"), [], {})
                self.assertEqual([entry.id for entry in entries], ["d", "c", "b", "a"])

    def test_the_feed_ends_when_there_is_no_more(self) -> None:
        empty = Answer(data={"items": [], "next_cursor": "c1", "has_more": True})
        last = Answer(data={"items": [{"id": "evt_1"}], "next_cursor": "c2", "has_more": False})
        for name, run in BOTH.items():
            with self.subTest(name), ScriptedServer(empty, last) as server:
                events = run(server.url, lambda waymark: waymark.events.list(after="c0"), [], {})
                self.assertEqual([event.id for event in events], ["evt_1"])
                self.assertEqual([request.path[-2:] for request in server.received], ["00", "00"])
                self.assertIn("after=c0", server.received[0].path)
                self.assertIn("after=c1", server.received[1].path)

    def test_nothing_is_requested_before_the_first_item(self) -> None:
        with (
            ScriptedServer(page([{"id": "1"}], "c1")) as server,
            Waymark(api_key=KEY, base_url=server.url) as waymark,
        ):
            jobs = waymark.jobs.list()
            self.assertEqual(server.received, [])
            next(jobs)
            self.assertEqual(len(server.received), 1)


class Batches(unittest.TestCase):
    def test_any_number_of_jobs_is_updated_in_hundreds_and_in_order(self) -> None:
        def batch(numbers: range) -> Answer:
            return Answer(
                data={"results": [{"marking_number": str(number), "success": True} for number in numbers]}
            )

        for name, run in BOTH.items():
            answers = [batch(range(100)), Answer(is_cut=True), batch(range(100, 200)), batch(range(200, 250))]
            with self.subTest(name), ScriptedServer(*answers) as server:
                jobs = ({"marking_number": str(number), "weight": None} for number in range(250))
                results = run(server.url, lambda waymark, jobs=jobs: waymark.jobs.update_many(jobs), [], {})
                self.assertEqual(
                    [result.marking_number for result in results], [str(number) for number in range(250)]
                )
                sizes = [len(request.body["jobs"]) for request in server.received]
                keys = [request.headers["idempotency-key"] for request in server.received]
                self.assertEqual((sizes, keys[1]), ([100, 100, 100, 50], keys[2]))
                self.assertEqual(len(set(keys)), 3)
                self.assertEqual(server.received[0].body["jobs"][0], {"marking_number": "0", "weight": None})

    def test_each_batch_has_a_number_behind_the_key_of_the_caller(self) -> None:
        jobs = [{"marking_number": str(number), "weight": 1} for number in range(150)]
        answers = [
            Answer(data={"results": [{"marking_number": "1", "success": True}] * size}) for size in (100, 50)
        ]
        for name, run in BOTH.items():
            with self.subTest(name), ScriptedServer(*answers) as server:
                results = run(
                    server.url,
                    lambda waymark: waymark.jobs.update_many(jobs, idempotency_key="import-7"),
                    [],
                    {},
                )
                self.assertEqual(len(results), 150)
                keys = [request.headers["idempotency-key"] for request in server.received]
                self.assertEqual(keys, ["import-7-1", "import-7-2"])

    def test_the_async_client_takes_an_async_iterable_and_reads_it_batch_by_batch(self) -> None:
        read = 0

        async def jobs() -> AsyncIterator[dict[str, Any]]:
            nonlocal read
            for number in range(150):
                read += 1
                yield {"marking_number": str(number), "weight": 1}

        async def run(url: str) -> list[tuple[str, int]]:
            async with AsyncWaymark(api_key=KEY, base_url=url) as waymark:
                return [(each.marking_number, read) async for each in waymark.jobs.update_many(jobs())]

        def batch(numbers: range) -> Answer:
            return Answer(data={"results": [{"marking_number": str(number)} for number in numbers]})

        with ScriptedServer(batch(range(100)), batch(range(100, 150))) as server:
            results = asyncio.run(run(server.url))
        self.assertEqual([number for number, _ in results], [str(number) for number in range(150)])
        self.assertEqual((results[99][1], results[100][1]), (100, 150))
        self.assertEqual([len(request.body["jobs"]) for request in server.received], [100, 50])

    def test_the_results_are_those_of_update_batch(self) -> None:
        results = [
            {"marking_number": "1", "success": True, "job": {"id": "job_1"}},
            {"marking_number": "2", "success": False, "error": "no", "error_code": "NotFoundException"},
        ]
        jobs = [{"marking_number": "1"}, {"marking_number": "2"}]
        for run in BOTH.values():
            with ScriptedServer(Answer(data={"results": results})) as server:
                many = run(server.url, lambda waymark: waymark.jobs.update_many(jobs), [], {})
                batch = run(server.url, lambda waymark: waymark.jobs.update_batch({"jobs": jobs}), [], {})
            self.assertEqual(many, batch.results)
            self.assertEqual([result.success for result in many], [True, False])

    def test_no_jobs_send_no_request(self) -> None:
        with ScriptedServer(Answer()) as server, Waymark(api_key=KEY, base_url=server.url) as waymark:
            self.assertEqual(list(waymark.jobs.update_many([])), [])
        self.assertEqual(server.received, [])


class Methods(unittest.TestCase):
    def test_both_clients_have_a_method_for_every_operation(self) -> None:
        for client in (Waymark, AsyncWaymark):
            waymark = client(api_key=KEY, base_url="http://127.0.0.1:1")
            for operation, path in METHODS.items():
                resource, method = path.split(".")
                self.assertTrue(callable(getattr(getattr(waymark, resource), method)), operation)


class Headers(unittest.TestCase):
    def test_each_method_takes_headers_for_the_call(self) -> None:
        page = {"items": [], "results": [], "next_cursor": "c", "has_more": False, "pagination": {}}
        page["pagination"] = {"next_cursor": None, "page": 1, "page_size": 100, "total": 0}
        feed = {"reconcile": print, "stop": lambda: len(server.received) > 0}
        following = [
            ("events.follow", [], {**feed, "store": MemoryCursorStore("c")}),
            ("events.follow_pages", [], {**feed, "after": "c"}),
            ("jobs.update_many", [[{"marking_number": "WM-1"}]], {}),
        ]
        methods = [(name, None, {}) for name in METHODS.values()]
        lists = [(name[: -len("_page")], None, {}) for name in METHODS.values() if name.endswith("_page")]
        for run in BOTH.values():
            for name, given, options in [*methods, *lists, *following]:
                with self.subTest(name), ScriptedServer(Answer(data=page)) as server:

                    def use(
                        waymark: Any, name: str = name, given: Any = given, options: Any = options
                    ) -> Any:
                        method = attrgetter(name)(waymark)
                        arguments = _required(method) if given is None else given
                        return method(*arguments, **options, headers={"X-Trace": "t-1"})

                    run(server.url, use, [], {})
                    self.assertEqual([each.headers.get("x-trace") for each in server.received], ["t-1"])

    def test_an_argument_counts_more_than_a_header(self) -> None:
        with ScriptedServer(Answer(data={})) as server, Waymark(api_key=KEY, base_url=server.url) as waymark:
            headers = {"IDEMPOTENCY-KEY": "header", "If-Match": '"1"', "User-Agent": "mine"}
            waymark.jobs.update("WM-1", {}, headers=headers)
            waymark.jobs.update("WM-1", {}, idempotency_key="argument", if_match='"2"', headers=headers)
            seen = [
                [each.headers[name] for name in ("idempotency-key", "if-match", "user-agent")]
                for each in server.received
            ]
        self.assertEqual(seen, [["header", '"1"', "mine"], ["argument", '"2"', "mine"]])

    def test_the_idempotency_key_in_a_header_is_the_users_own(self) -> None:
        headers = {"Idempotency-Key": "mine"}
        conflict = failure(409, "ConflictException")
        for run in BOTH.values():
            with ScriptedServer(conflict, Answer(data={"results": []})) as server:
                run(server.url, lambda waymark: waymark.jobs.update("1", {}, headers=headers), [], {})
                jobs = [{"marking_number": str(number)} for number in range(101)]
                run(server.url, lambda waymark: waymark.jobs.update_many(jobs, headers=headers), [], {})
                keys = [each.headers["idempotency-key"] for each in server.received]
            self.assertEqual(keys, ["mine", "mine", "mine-1", "mine-2"])


def _required(method: Any) -> list[Any]:
    """Returns a value for each argument without a default."""
    values = {"body": {"jobs": []}, "marking_numbers": ["1"]}
    parameters = inspect.signature(method).parameters.values()
    return [values.get(each.name, "1") for each in parameters if each.default is each.empty]


if __name__ == "__main__":
    unittest.main()
