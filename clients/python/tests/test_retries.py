"""When a request is repeated, how long the client waits, and which error it raises in the end."""

from __future__ import annotations

import asyncio
import copy
import pickle
import threading
import unittest
from typing import Any

import httpx
from clients import BOTH, KEY, Use
from scripted_server import Answer, ScriptedServer, failure

from waymark_client import ApiError, AsyncWaymark, Waymark, errors
from waymark_client._calls import Call
from waymark_client._errors import retry_after_of
from waymark_client.models import JobPatch

JOB = {"id": "job_1", "marking_number": "WM-1", "weight": 2.5}
FOUND = Answer(data=JOB)


def update(waymark: Any) -> Any:
    return waymark.jobs.update("WM-1", JobPatch(weight=2.5))


def update_with_own_key(waymark: Any) -> Any:
    return waymark.jobs.update("WM-1", JobPatch(weight=2.5), idempotency_key="mine")


def create_without_key(waymark: Any) -> Any:
    """A change that accepts no Idempotency-Key."""
    return waymark._driver.call(Call(method="POST", path="/things", decode=dict, body={}))


class Retries(unittest.TestCase):
    def outcome(
        self, use: Use, *answers: Answer, **options: Any
    ) -> list[tuple[Any, ScriptedServer, list[float]]]:
        """Returns for each client the result or error, the server with its requests, and the waits."""
        outcomes = []
        for run in BOTH.values():
            waits: list[float] = []
            with ScriptedServer(*answers) as server:
                try:
                    result = run(server.url, use, waits, options)
                except errors.WaymarkError as error:
                    result = error
            outcomes.append((result, server, waits))
        return outcomes

    def test_a_change_keeps_its_key_over_retries_and_waits_at_least_retry_after(self) -> None:
        answers = [
            failure(503, "ServiceUnavailableException", Retry_After="7"),
            Answer(is_cut=True),
            failure(409, "ConflictException"),
            failure(429, "TooManyRequestsException", Retry_After="3"),
            failure(500, "InternalServerErrorException"),
            FOUND,
        ]
        for result, server, waits in self.outcome(update, *answers):
            self.assertEqual(result.weight, 2.5)
            self.assertEqual(waits, [7.5, 1, 2, 7, 8])
            keys = {request.headers["idempotency-key"] for request in server.received}
            self.assertEqual((len(server.received), len(keys)), (6, 1))

    def test_each_change_has_its_own_key(self) -> None:
        with ScriptedServer(FOUND) as server, Waymark(api_key=KEY, base_url=server.url) as waymark:
            update(waymark)
            update(waymark)
            waymark.jobs.update("WM-1", JobPatch(weight=1), idempotency_key="mine")
        keys = [request.headers["idempotency-key"] for request in server.received]
        self.assertEqual((len(set(keys)), keys[2]), (3, "mine"))

    def test_a_change_without_key_is_repeated_only_if_it_cannot_have_been_applied(self) -> None:
        for result, server, _ in self.outcome(
            create_without_key, failure(429, "TooManyRequestsException"), Answer(data={})
        ):
            self.assertEqual((result, len(server.received)), ({}, 2))
        for answer, kind in [
            (Answer(is_cut=True), errors.NoResponseError),
            (failure(503, "ServiceUnavailableException"), errors.ServiceUnavailableError),
            (failure(500, "InternalServerErrorException"), errors.InternalServerError),
            (failure(409, "ConflictException"), errors.ConflictError),
        ]:
            for result, server, waits in self.outcome(create_without_key, answer, Answer(data={})):
                self.assertIsInstance(result, kind)
                self.assertEqual((len(server.received), waits), (1, []))

    def test_a_request_that_was_never_sent_is_repeated(self) -> None:
        with ScriptedServer(FOUND) as server:
            pass
        for run in BOTH.values():
            waits: list[float] = []
            with self.assertRaises(errors.NoResponseError):
                run(server.url, create_without_key, waits, {"max_retries": 3})
            self.assertEqual(waits, [0.5, 1, 2])

    def test_a_conflict_is_repeated_only_if_the_same_request_may_be_in_flight(self) -> None:
        conflict = failure(409, "ConflictException")
        for result, server, _ in self.outcome(update, conflict, FOUND):
            self.assertIsInstance(result, errors.ConflictError)
            self.assertEqual(len(server.received), 1)
        for result, server, _ in self.outcome(update_with_own_key, conflict, FOUND):
            self.assertEqual((result.weight, len(server.received)), (2.5, 2))

    def test_a_refusal_is_not_repeated(self) -> None:
        for status, code in [
            (400, "BadRequestException"),
            (404, "NotFoundException"),
            (422, "UnprocessableEntityException"),
        ]:
            for result, server, _ in self.outcome(update, failure(status, code)):
                self.assertEqual((type(result).error_code, len(server.received)), (code, 1))

    def test_an_error_has_what_the_response_says(self) -> None:
        for result, server, waits in self.outcome(
            update, failure(429, "TooManyRequestsException", Retry_After="61"), max_retries=2
        ):
            self.assertIsInstance(result, errors.TooManyRequestsError)
            self.assertEqual(
                (result.status, result.request_id, result.retry_after, result.details, result.doc_url),
                (429, "req_test", 61, None, "/guide/errors#TooManyRequestsException"),
            )
            # A longer wait than max_retry_after is for the program to decide.
            self.assertEqual((len(server.received), waits), (1, []))

    def test_an_error_can_be_pickled_and_copied(self) -> None:
        for answer in [
            failure(429, "TooManyRequestsException", Retry_After="61"),
            failure(418, "TeapotException"),
            Answer(404, raw=b"<html>"),
        ]:
            for error, _, _ in self.outcome(update, answer, max_retries=0):
                for copied in [
                    pickle.loads(pickle.dumps(error)),
                    copy.copy(error),
                    copy.deepcopy(error),
                ]:
                    self.assertIs(type(copied), type(error))
                    self.assertEqual((str(copied), vars(copied)), (str(error), vars(error)))

    def test_retries_end(self) -> None:
        for result, server, waits in self.outcome(
            update, failure(503, "ServiceUnavailableException"), max_retries=2
        ):
            self.assertIsInstance(result, errors.ServiceUnavailableError)
            self.assertEqual((len(server.received), waits), (3, [0.5, 1]))

    def test_an_unknown_code_raises_the_base_class(self) -> None:
        for result, _, _ in self.outcome(update, failure(418, "TeapotException")):
            self.assertIs(type(result), ApiError)
            self.assertEqual((result.code, result.status), ("TeapotException", 418))

    def test_a_response_that_is_not_from_the_api_raises_the_base_class(self) -> None:
        for raw in [b"<html>", b"[]", b'{"error": "no"}', b"null"]:
            for status in (200, 404):
                for result, _, _ in self.outcome(update, Answer(status, raw=raw)):
                    self.assertIs(type(result), ApiError)
                    self.assertEqual((result.code, result.status), (None, status))

    def test_a_slow_response_raises_a_timeout(self) -> None:
        release = threading.Event()
        answer = Answer(data=JOB, hold=release)
        for run in BOTH.values():
            with ScriptedServer(answer) as server:
                with self.assertRaises(errors.NoResponseInTimeError):
                    run(server.url, update, [], {"timeout": httpx.Timeout(30, read=0.05), "max_retries": 1})
                self.assertEqual(server.wait_for(2), 2)
                release.set()
            release.clear()

    def test_a_response_that_arrives_too_slowly_raises_a_timeout(self) -> None:
        for name, run in BOTH.items():
            end = threading.Event()
            slow = Answer(data=JOB, drip=(0.01, end))
            with self.subTest(name), ScriptedServer(slow) as server:
                # Each byte arrives long before the timeout.
                with self.assertRaises(errors.NoResponseInTimeError):
                    run(server.url, update, [], {"timeout": 0.5, "max_retries": 1})
                self.assertEqual(server.wait_for(2), 2)
                end.set()

    def test_a_slow_response_without_a_limit_in_total_is_read(self) -> None:
        for name, run in BOTH.items():
            for timeout in (None, httpx.Timeout(5)):
                end = threading.Event()
                threading.Timer(0.2, end.set).start()
                with self.subTest(name), ScriptedServer(Answer(data=JOB, drip=(0.01, end))) as server:
                    self.assertEqual(run(server.url, update, [], {"timeout": timeout}).weight, 2.5)

    def test_a_client_with_other_options_shares_its_connections(self) -> None:
        release = threading.Event()
        for name, run in BOTH.items():
            with self.subTest(name), ScriptedServer(Answer(data=JOB, hold=release)) as server:
                waits: list[float] = []
                limits = {"timeout": httpx.Timeout(30, read=0.05), "max_retries": 1}
                use = lambda waymark, limits=limits: update(waymark.with_options(**limits))
                with self.assertRaises(errors.NoResponseInTimeError):
                    run(server.url, use, waits, {})
                self.assertEqual((server.wait_for(2), waits), (2, [0.5]))
                release.set()
            release.clear()
        with ScriptedServer(FOUND) as server, Waymark(api_key=KEY, base_url=server.url) as waymark:
            with waymark.with_options(max_retries=0) as other:
                self.assertIs(other._driver.http, waymark._driver.http)
                self.assertEqual(other._driver.connection.timeout, 30)
            self.assertEqual(update(waymark).weight, 2.5)
            self.assertEqual(waymark._driver.connection.policy.max_retries, 5)

    def test_a_cancelled_task_ends_at_once_and_the_client_stays_usable(self) -> None:
        release = threading.Event()

        async def run(url: str) -> float | None:
            async with AsyncWaymark(api_key=KEY, base_url=url) as waymark:
                task = asyncio.create_task(update(waymark))
                while not server.received:
                    await asyncio.sleep(0)
                task.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await task
                return (await waymark.jobs.get("WM-1")).weight

        with ScriptedServer(Answer(data=JOB, hold=release), FOUND) as server:
            self.assertEqual(asyncio.run(run(server.url)), 2.5)
            self.assertEqual([request.method for request in server.received], ["PATCH", "GET"])
            release.set()

    def test_the_key_is_in_no_text(self) -> None:
        with ScriptedServer(failure(401, "UnauthorizedException")) as server:
            waymark = Waymark(api_key=KEY, base_url=server.url)
            with self.assertRaises(errors.UnauthorizedError) as caught:
                update(waymark)
            waymark.close()
        self.assertEqual(server.received[0].headers["x-api-key"], KEY)
        self.assertNotIn(KEY, repr(waymark._driver) + repr(caught.exception) + str(vars(caught.exception)))

    def test_retry_after_is_a_number_or_a_date(self) -> None:
        self.assertEqual(retry_after_of({"retry-after": "12"}), 12)
        self.assertEqual(retry_after_of({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}), 0)
        self.assertGreater(retry_after_of({"retry-after": "Fri, 31 Dec 9999 23:59:59 GMT"}) or 0, 1e9)
        for text in ["", "soon", "-1", "1.5", "²"]:
            self.assertIsNone(retry_after_of({"retry-after": text}))

    def test_the_arguments_are_checked(self) -> None:
        for arguments in [{"api_key": "", "base_url": "http://a"}, {"api_key": KEY, "base_url": "a.example"}]:
            with self.assertRaises(ValueError):
                Waymark(**arguments)


if __name__ == "__main__":
    unittest.main()
