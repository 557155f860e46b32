"""Verifies webhooks, whose signatures follow Standard Webhooks."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
import time
from collections.abc import Iterable, Sequence
from typing import Any, Protocol, Union, cast

from ._errors import WebhookVerificationError
from ._generated.models import Event, EventJob, Job, WebhookTestEvent
from ._model import UNSET, Unset

TOLERANCE_S = 300
# Of Standard Webhooks.
_MIN_KEY_BYTES, _MAX_KEY_BYTES = 24, 64
_TIMESTAMP = re.compile(r"[0-9]{1,12}", re.ASCII)


class _HasItems(Protocol):
    def items(self) -> Iterable[tuple[Any, Any]]: ...


Headers = Union[_HasItems, Iterable[tuple[str, str]], Iterable[tuple[bytes, bytes]]]


def whole_job(event: Event | WebhookTestEvent) -> Job | None:
    """Returns the job of an event of a webhook or the feed.

    None if the event has no whole job: you can no longer see the job of `job.unassigned` and `job.deleted`, and an
    event of a newer type may have none.
    """
    # Absent in an event of a newer type.
    job: EventJob | Unset = event.data.job if isinstance(event, Event) else UNSET
    if isinstance(job, Unset) or isinstance(job.normalized_status, Unset):
        return None
    return Job.from_dict(job.to_dict())


def verify_webhook(
    raw_body: bytes | str,
    headers: Headers,
    secrets: str | Sequence[str],
    *,
    tolerance: float = TOLERANCE_S,
    now: float | None = None,
) -> Event | WebhookTestEvent:
    """Returns the event of a request that Waymark signed.

    raw_body: the bytes of the body as received, not parsed and serialised again.
    headers: the headers of the request, as your framework has them; their case does not matter.
    secrets: the secret of the endpoint (`whsec_…`), or several of them while you rotate it.
    tolerance: the largest difference between the time of the request and your clock, in seconds.
    now: your time in seconds since 1970, if it is not the time of the system.

    An event of a type that this version doesn't know is an `Event` with that `type`.
    Raises WebhookVerificationError for any other request, and ValueError if a secret is malformed.
    """
    keys = [_key_of(secret) for secret in ([secrets] if isinstance(secrets, str) else secrets)]
    if not keys:
        raise ValueError("secrets must have at least one secret")
    if not isinstance(raw_body, (str, bytes, bytearray, memoryview)):
        raise TypeError("raw_body must be the body as received, and not parsed JSON")
    body = _bytes_of("The body", raw_body) if isinstance(raw_body, str) else bytes(raw_body)
    webhook_id, timestamp, signatures = _signed_headers(headers)
    if not _TIMESTAMP.fullmatch(timestamp):
        raise WebhookVerificationError("webhook-timestamp must be a number of seconds")
    age = (time.time() if now is None else now) - int(timestamp)
    if abs(age) > tolerance:
        raise WebhookVerificationError(
            f"webhook-timestamp is {abs(age):.0f} s off, more than {tolerance:.0f} s"
        )
    content = b".".join((_bytes_of("webhook-id", webhook_id), timestamp.encode(), body))
    texts = _bytes_of("webhook-signature", signatures).split(b" ")
    given = [text for text in texts if text.startswith(b"v1,")]
    expected = [b"v1," + base64.b64encode(hmac.digest(key, content, hashlib.sha256)) for key in keys]
    # Compares all of them, so that the time does not depend on which one is equal.
    if not any([hmac.compare_digest(each, text) for each in expected for text in given]):
        raise WebhookVerificationError("No signature of webhook-signature fits the body and the secrets")
    return _event_of(body)


def _key_of(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not _MIN_KEY_BYTES <= len(key) <= _MAX_KEY_BYTES:
        raise ValueError("A secret must be whsec_ and 24 to 64 bytes in base64")
    return key


def _signed_headers(headers: Headers) -> tuple[str, str, str]:
    # Of http.server, Werkzeug, Django, aiohttp and others. ASGI has pairs of bytes.
    items = getattr(headers, "items", None)
    pairs = cast("Iterable[tuple[str | bytes, str | bytes]]", items() if callable(items) else headers)
    by_name = {_text_of(name).lower(): _text_of(value) for name, value in pairs}
    names = ("webhook-id", "webhook-timestamp", "webhook-signature")
    missing = [name for name in names if not by_name.get(name)]
    if missing:
        raise WebhookVerificationError(f"The request has no {missing[0]}")
    return by_name[names[0]], by_name[names[1]], by_name[names[2]]


def _text_of(text: str | bytes) -> str:
    return text.decode("latin-1") if isinstance(text, bytes) else text


def _bytes_of(name: str, text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise WebhookVerificationError(f"{name} is not valid text") from error


def _event_of(body: bytes) -> Event | WebhookTestEvent:
    try:
        data = json.loads(body)
    except ValueError as error:
        raise WebhookVerificationError("The body is signed, but is not JSON") from error
    if not isinstance(data, dict):
        raise WebhookVerificationError("The body is signed, but is not an object")
    if data.get("type") == "webhook.test":
        return WebhookTestEvent.from_dict(data)
    return Event.from_dict(data)
