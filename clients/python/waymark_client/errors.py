"""All errors of this package."""

from ._errors import (
    ApiError,
    NoResponseError,
    NoResponseInTimeError,
    NotModifiedError,
    WaymarkError,
    WebhookVerificationError,
)
from ._generated import errors as _codes
from ._generated.errors import *  # noqa: F403

__all__ = [
    "ApiError",
    "NoResponseError",
    "NoResponseInTimeError",
    "NotModifiedError",
    "WaymarkError",
    "WebhookVerificationError",
    *_codes.__all__,
]
