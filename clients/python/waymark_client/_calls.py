"""One request with its retries, as steps that `Waymark` and `AsyncWaymark` execute."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, NoReturn, TypeVar
from urllib.parse import quote

import httpx

from ._errors import (
    ApiError,
    NoResponseError,
    NoResponseInTimeError,
    NotModifiedError,
    api_error,
    retry_after_of,
)
from ._model import UNSET, Model, ResponseInfo, encode_body, encode_text

T = TypeVar("T")

Headers = Mapping[str, str] | None
"""Headers of the user for one call. Names are case-insensitive."""

FIRST_BACKOFF_S = 0.5
MAX_BACKOFF_S = 8.0
# In lower case, like all names of headers of a request.
KEY_HEADER = "idempotency-key"

RETRIED_STATUSES = frozenset({408, 429, 500, 502, 503, 504})
# Retried if an earlier request with the same Idempotency-Key may be in flight. Otherwise the state forbids the change.
IN_FLIGHT_STATUS = 409
# Without a key, a change is repeated only if the server can't have applied it.
NEVER_APPLIED_STATUSES = frozenset({429})
NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
# Errors in the request itself: another attempt would fail in the same way.
FINAL_ERRORS = (httpx.UnsupportedProtocol, httpx.LocalProtocolError)


@dataclass(frozen=True)
class Send:
    """Send a request; the outcome is a response or an error of httpx."""

    call: Call[Any]
    headers: Mapping[str, str]


@dataclass(frozen=True)
class Wait:
    """Wait for some seconds."""

    seconds: float


@dataclass(frozen=True)
class Run:
    """Call a function of the user; the outcome is its result."""

    function: Callable[..., Any]
    args: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Emit:
    """Give an item to the user."""

    item: Any


Step = Send | Wait | Run | Emit
Steps = Generator[Step, Any, T]


@dataclass(frozen=True)
class RetryPolicy:
    """When to repeat a request. Times are in seconds."""

    max_retries: int
    max_retry_after: float
    random: Callable[[], float]
    """Returns a number from 0 to 1."""

    def backoff(self, attempt: int) -> float:
        """Returns the wait after the `attempt`-th request: it doubles, and varies to spread requests out."""
        return min(MAX_BACKOFF_S, FIRST_BACKOFF_S * 2.0 ** min(attempt - 1, 16)) * (0.5 + self.random() / 2)


@dataclass(frozen=True)
class Call(Generic[T]):
    """One operation with its arguments."""

    method: str
    path: str
    decode: Callable[[Any], T]
    """Converts `data` of the envelope."""
    path_parameters: Mapping[str, Any] = field(default_factory=dict)
    query: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, Any] = field(default_factory=dict)
    body: Model | Mapping[str, Any] | None = None
    is_read: bool = False
    """True if it changes nothing."""
    takes_key: bool = False
    """True if it accepts an Idempotency-Key."""

    def with_headers(self, headers: Headers) -> Call[T]:
        """Returns a call with these headers too. An argument of the method, such as `if_match`, counts more."""
        return replace(self, headers={**_lower_cased(headers), **_lower_cased(_texts(self.headers))})

    def url(self) -> str:
        """Returns the path below `/v1`. Raises ValueError for an empty parameter, which would make it another path."""
        return self.path.format_map(
            {name: _segment(name, value) for name, value in self.path_parameters.items()}
        )

    def params(self) -> dict[str, str]:
        """Returns the query parameters that are set."""
        return _texts(self.query)

    def json(self) -> Any:
        """Returns the body as JSON data, or None."""
        return None if self.body is None else encode_body(self.body)

    def all_headers(self) -> dict[str, str]:
        """Returns the headers that are set, with a new Idempotency-Key if the operation accepts one."""
        headers = _lower_cased(_texts(self.headers))
        if self.takes_key:
            headers.setdefault(KEY_HEADER, str(uuid.uuid4()))
        return headers

    def can_retry(self, outcome: httpx.Response | httpx.RequestError, attempt: int) -> bool:
        """True if another attempt can succeed and can't apply a change twice. `attempt` counts from 1."""
        is_safe = self.is_read or self.takes_key
        if isinstance(outcome, httpx.Response):
            if outcome.status_code == IN_FLIGHT_STATUS:
                return self.takes_key and (attempt > 1 or KEY_HEADER in _lower_cased(_texts(self.headers)))
            statuses = RETRIED_STATUSES if is_safe else NEVER_APPLIED_STATUSES
            return outcome.status_code in statuses
        if isinstance(outcome, FINAL_ERRORS):
            return False
        return is_safe or isinstance(outcome, NEVER_SENT)


def perform(call: Call[T], policy: RetryPolicy) -> Steps[T]:
    """Sends the request until it succeeds, fails for good, or `policy.max_retries` is reached."""
    headers = call.all_headers()
    attempt = 0
    while True:
        attempt += 1
        outcome: httpx.Response | httpx.RequestError = yield Send(call, headers)
        if isinstance(outcome, httpx.Response) and outcome.is_success:
            return _result(call, outcome)
        retry_after = _retry_after(outcome)
        is_last = attempt > policy.max_retries or retry_after > policy.max_retry_after
        if is_last or not call.can_retry(outcome, attempt):
            _fail(outcome)
        yield Wait(retry_after + policy.backoff(attempt))


def key_in(headers: Headers) -> str | None:
    """Returns the user's own Idempotency-Key."""
    return _lower_cased(headers).get(KEY_HEADER)


def is_temporary(error: Exception) -> bool:
    """True if the same request may succeed later."""
    if isinstance(error, ApiError):
        return error.status in RETRIED_STATUSES
    return isinstance(error, NoResponseError) and not isinstance(error.__cause__, FINAL_ERRORS)


def _segment(name: str, value: Any) -> str:
    if value is None or value is UNSET or value == "":
        raise ValueError(f"{name} must not be empty")
    text = quote(encode_text(value), safe="")
    # httpx would resolve these two as a relative path.
    return text.replace(".", "%2E") if text in (".", "..") else text


def _lower_cased(headers: Headers) -> dict[str, str]:
    return {name.lower(): value for name, value in (headers or {}).items()}


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    return {
        name: encode_text(value) for name, value in values.items() if value is not UNSET and value is not None
    }


def _retry_after(outcome: httpx.Response | httpx.RequestError) -> float:
    if not isinstance(outcome, httpx.Response):
        return 0.0
    return retry_after_of(outcome.headers) or 0.0


def _result(call: Call[T], response: httpx.Response) -> T:
    info = ResponseInfo(response.status_code, response.headers)
    try:
        data = response.json()["data"]
    except (ValueError, LookupError, TypeError) as error:
        raise ApiError(info.status, {"message": "The response is not from the API"}, info.headers) from error
    result = call.decode(data)
    if isinstance(result, Model):
        result._response = info
    return result


def _fail(outcome: httpx.Response | httpx.RequestError) -> NoReturn:
    if isinstance(outcome, httpx.TimeoutException):
        raise NoResponseInTimeError("The server did not respond in time") from outcome
    if isinstance(outcome, httpx.RequestError):
        raise NoResponseError(f"The request got no response: {outcome}") from outcome
    if outcome.status_code == 304:
        raise NotModifiedError("The job has not changed")
    raise api_error(outcome.status_code, outcome.content, outcome.headers)
