"""Base classes of the errors. The class of each code of the API is in `_generated/errors.py`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any, ClassVar


class WaymarkError(Exception):
    """Base class of all errors of this package."""


class NoResponseError(WaymarkError):
    """The request got no response: the connection failed or was lost. `__cause__` is the error of httpx."""


class NoResponseInTimeError(NoResponseError):
    """The request got no response within the timeout."""


class NotModifiedError(WaymarkError):
    """The job still has the version of `if_none_match` (304)."""


class WebhookVerificationError(WaymarkError):
    """The request was not signed with one of the secrets, or its time is outside the tolerance."""


class ApiError(WaymarkError):
    """The API refused a request. An error with a code that this version doesn't know has exactly this class."""

    error_code: ClassVar[str | None] = None
    classes: ClassVar[dict[str, type[ApiError]]] = {}

    status: int
    """HTTP status."""
    code: str | None
    """`error.code`; None if the response is not from the API, for example from a proxy."""
    message: str
    details: Any
    """Depends on the code; usually None."""
    request_id: str | None
    """Quote it when you ask the operator for help."""
    retry_after: float | None
    """Seconds to wait before the next attempt; None if the response didn't say."""
    doc_url: str | None
    """The page about this code."""

    def __init_subclass__(cls) -> None:
        if cls.error_code is not None:
            ApiError.classes[cls.error_code] = cls

    def __init__(self, status: int, error: Mapping[str, Any], headers: Mapping[str, str]) -> None:
        self.status = status
        self.code = error.get("code")
        self.message = error.get("message") or f"The server returned status {status}"
        self.details = error.get("details")
        self.request_id = headers.get("x-request-id")
        self.retry_after = retry_after_of(headers)
        self.doc_url = error.get("doc_url")
        request = f" (request {self.request_id})" if self.request_id else ""
        super().__init__(f"{self.code or status}: {self.message}{request}")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles and copies the members: the arguments are not kept."""
        return _restore, (type(self), self.args), self.__dict__


def _restore(kind: type[ApiError], args: tuple[Any, ...]) -> ApiError:
    return kind.__new__(kind, *args)


def api_error(status: int, content: bytes, headers: Mapping[str, str]) -> ApiError:
    """Returns the error of a response, with the class of its code."""
    error = _error_member(content)
    return ApiError.classes.get(str(error.get("code")), ApiError)(status, error, headers)


def _error_member(content: bytes) -> Mapping[str, Any]:
    """Returns an empty mapping if the response is not from the API."""
    try:
        error = json.loads(content)["error"]
    except (ValueError, LookupError, TypeError):
        return {}
    return error if isinstance(error, Mapping) else {}


def retry_after_of(headers: Mapping[str, str]) -> float | None:
    """Returns the seconds of `Retry-After`, which is a number of seconds or a date."""
    text = headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    return max(0.0, (moment - datetime.now(timezone.utc)).total_seconds())
