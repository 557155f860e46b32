"""Client of the Waymark API."""

from ._client import AsyncWaymark, Waymark
from ._errors import ApiError, WaymarkError, WebhookVerificationError
from ._follow import CursorStore, EventPage, FileCursorStore, Gap, MemoryCursorStore
from ._model import UNSET, Unset
from ._version import VERSION
from .webhooks import verify_webhook, whole_job

__all__ = [
    "UNSET",
    "VERSION",
    "ApiError",
    "AsyncWaymark",
    "CursorStore",
    "EventPage",
    "FileCursorStore",
    "Gap",
    "MemoryCursorStore",
    "Unset",
    "Waymark",
    "WaymarkError",
    "WebhookVerificationError",
    "verify_webhook",
    "whole_job",
]
