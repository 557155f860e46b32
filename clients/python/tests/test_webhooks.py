"""Verification of webhooks, compared with the library `standardwebhooks` where it is installed."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import random
import time
import unittest
from datetime import datetime, timezone
from email.message import Message
from typing import Any

from waymark_client import UNSET, WebhookVerificationError, verify_webhook, whole_job
from waymark_client.models import Event, WebhookTestEvent

try:
    from standardwebhooks import Webhook
    from standardwebhooks import WebhookVerificationError as LibraryError
except ImportError:
    Webhook = None

ID = "evt_01M7YP7PVEE83A58XTX89EWH3Q"
TIME = 1795252542
SECRET = "whsec_d2F5bWFyay1kb2NzLXRlc3QtdmVjdG9yLTMyYnl0ZXM="
BODY = '{"type":"webhook.test","town":"Tromsø"}'.encode()
HEADERS = {
    "webhook-id": ID,
    "webhook-timestamp": str(TIME),
    "webhook-signature": "v1,4BpZdFYGa273Vkzzw1gSiK2cuJcPEfdxerXESvmnfok=",
}
OTHER_SECRET = "whsec_" + base64.b64encode(b"another secret of 32 bytes, here").decode()


def sign(secret: str, body: bytes, webhook_id: str = ID, timestamp: int = TIME) -> str:
    key = base64.b64decode(secret.removeprefix("whsec_"))
    digest = hmac.digest(key, f"{webhook_id}.{timestamp}.".encode() + body, hashlib.sha256)
    return "v1," + base64.b64encode(digest).decode()


def tampered(headers: dict[str, str], body: bytes) -> dict[str, tuple[dict[str, str], bytes]]:
    """Returns eight forgeries of a signed request that is not older than the tolerance."""
    signature = headers["webhook-signature"]
    timestamp = int(headers["webhook-timestamp"])
    return {
        "a changed body": (headers, body.replace(b'"', b'" ', 1)),
        "an added byte": (headers, body + b" "),
        "a changed id": ({**headers, "webhook-id": headers["webhook-id"] + "0"}, body),
        "a changed time": ({**headers, "webhook-timestamp": str(timestamp + 1)}, body),
        "a shortened signature": ({**headers, "webhook-signature": signature[:-5]}, body),
        "another version": ({**headers, "webhook-signature": signature.replace("v1,", "v2,")}, body),
        "the signature of another secret": (
            {**headers, "webhook-signature": sign(OTHER_SECRET, body, headers["webhook-id"], timestamp)},
            body,
        ),
        "no signature": (
            {name: value for name, value in headers.items() if name != "webhook-signature"},
            body,
        ),
    }


class Verification(unittest.TestCase):
    def test_the_vector_of_the_guide(self) -> None:
        event = verify_webhook(BODY, HEADERS, SECRET, now=TIME)
        self.assertIsInstance(event, WebhookTestEvent)
        self.assertEqual(event.additional_properties, {"town": "Tromsø"})
        self.assertEqual(verify_webhook(BODY.decode(), HEADERS, SECRET, now=TIME), event)

    def test_headers_in_any_form_and_case(self) -> None:
        upper = {name.title(): value for name, value in HEADERS.items()}
        for headers in (upper, list(upper.items())):
            self.assertEqual(verify_webhook(BODY, headers, SECRET, now=TIME).type, "webhook.test")

    def test_eight_forgeries_are_refused(self) -> None:
        for name, (headers, body) in tampered(HEADERS, BODY).items():
            with self.subTest(name), self.assertRaises(WebhookVerificationError):
                verify_webhook(body, headers, SECRET, now=TIME)

    def test_the_tolerance_goes_both_ways(self) -> None:
        for now in (TIME - 300, TIME + 300):
            verify_webhook(BODY, HEADERS, SECRET, now=now)
        for now in (TIME - 301, TIME + 301):
            with self.assertRaises(WebhookVerificationError):
                verify_webhook(BODY, HEADERS, SECRET, now=now)
            verify_webhook(BODY, HEADERS, SECRET, now=now, tolerance=400)
        with self.assertRaises(WebhookVerificationError):
            verify_webhook(BODY, HEADERS, SECRET)

    def test_malformed_times_are_refused(self) -> None:
        for text in ["", "soon", "1e9", "-5", " 5", "٣", "1" * 13, "5.0"]:
            with self.subTest(text), self.assertRaises(WebhookVerificationError):
                verify_webhook(BODY, {**HEADERS, "webhook-timestamp": text}, SECRET, now=TIME)

    def test_headers_of_frameworks(self) -> None:
        message = Message()
        for name, value in HEADERS.items():
            message[name] = value
        asgi = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
        for headers in (message, asgi, list(HEADERS.items())):
            with self.subTest(type(headers).__name__):
                verify_webhook(BODY, headers, SECRET, now=TIME)

    def test_a_parsed_body_is_called_so(self) -> None:
        with self.assertRaisesRegex(TypeError, "not parsed JSON"):
            verify_webhook(json.loads(BODY), HEADERS, SECRET, now=TIME)  # type: ignore[arg-type]

    def test_headers_that_are_not_text_are_refused(self) -> None:
        # WSGI servers and `os.fsdecode` return bytes that are not UTF-8 as surrogates.
        for name in HEADERS:
            for value in ("\udcff", HEADERS[name] + " v1,\udcff"):
                with self.subTest(name, value=value), self.assertRaises(WebhookVerificationError):
                    verify_webhook(BODY, {**HEADERS, name: value}, OTHER_SECRET, now=TIME)
        with self.assertRaises(WebhookVerificationError):
            verify_webhook("\udcff", HEADERS, SECRET, now=TIME)

    def test_rotation(self) -> None:
        both = f"{sign(OTHER_SECRET, BODY)} {HEADERS['webhook-signature']}"
        for secret in (SECRET, OTHER_SECRET):
            verify_webhook(BODY, {**HEADERS, "webhook-signature": both}, secret, now=TIME)
        verify_webhook(BODY, HEADERS, [OTHER_SECRET, SECRET], now=TIME)

    def test_a_secret_must_be_one(self) -> None:
        for secrets in ["", "whsec_", "whsec_c2hvcnQ=", f"whsec_{'QUFB' * 22}", "whsec_not base64", []]:
            with self.subTest(secrets), self.assertRaises(ValueError):
                verify_webhook(BODY, HEADERS, secrets, now=TIME)

    def test_a_signed_body_that_is_no_event_is_refused(self) -> None:
        for body in [b"", b"text", b"[]", b"1", b"\xff"]:
            headers = {**HEADERS, "webhook-signature": sign(SECRET, body)}
            with self.subTest(body), self.assertRaises(WebhookVerificationError):
                verify_webhook(body, headers, SECRET, now=TIME)

    def test_events_of_known_and_unknown_types(self) -> None:
        for kind in ("job.updated", "parcel.melted"):
            body = json.dumps(
                {"id": ID, "type": kind, "timestamp": "2026-11-21T09:15:42Z", "data": {"new": 1}}
            ).encode()
            event = verify_webhook(
                body, {**HEADERS, "webhook-signature": sign(SECRET, body)}, SECRET, now=TIME
            )
            assert isinstance(event, Event)
            self.assertEqual((event.type, event.data.additional_properties), (kind, {"new": 1}))
            self.assertIs(event.data.job, UNSET)
            self.assertIsNone(whole_job(event))

    def test_the_whole_job_is_that_of_a_change(self) -> None:
        identity = {"id": "job_1", "marking_number": "A", "version": 3}
        for kind, job in (
            ("job.updated", {**identity, "normalized_status": "failed", "created_at": "2026-11-21T09:15:42.318Z"}),
            ("job.unassigned", identity),
            ("job.deleted", identity),
        ):
            event = Event.from_dict({"id": ID, "type": kind, "data": {"job": job, "sequence": 3}})
            whole = whole_job(event)
            self.assertEqual(event.data.job.marking_number, "A")
            self.assertEqual(whole.to_dict() if whole else None, job if kind == "job.updated" else None)


@unittest.skipIf(Webhook is None, "standardwebhooks is not installed")
class AgreementWithStandardWebhooks(unittest.TestCase):
    def test_200_vectors_and_their_forgeries(self) -> None:
        numbers = random.Random(20261124)
        now = int(time.time())
        for index in range(200):
            secret = "whsec_" + base64.b64encode(numbers.randbytes(numbers.randint(24, 64))).decode()
            library: Any = Webhook(secret)
            webhook_id = f"evt_{numbers.getrandbits(80):x}"
            timestamp = now - numbers.randint(-250, 250)
            text = "".join(
                chr(numbers.choice([*range(32, 127), 233, 0x20AC, 0x1F4E6])) for _ in range(index * 3)
            )
            body = json.dumps({"type": "webhook.test", "text": text}, ensure_ascii=index % 2 == 0).encode()
            moment = datetime.fromtimestamp(timestamp, timezone.utc)
            headers = {
                "webhook-id": webhook_id,
                "webhook-timestamp": str(timestamp),
                "webhook-signature": library.sign(webhook_id, moment, body.decode()),
            }
            self.assertEqual(verify_webhook(body, headers, secret).to_dict(), library.verify(body, headers))
            for name, (forged_headers, forged_body) in tampered(headers, body).items():
                with self.subTest(name, index=index):
                    with self.assertRaises(WebhookVerificationError):
                        verify_webhook(forged_body, forged_headers, secret)
                    with self.assertRaises((LibraryError, binascii.Error)):
                        library.verify(forged_body, forged_headers)


if __name__ == "__main__":
    unittest.main()
