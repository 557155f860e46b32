"""The objects of the API."""

from ._generated import models as _models
from ._generated.models import *  # noqa: F403
from ._model import Model, ResponseInfo

__all__ = ["Model", "ResponseInfo", *_models.__all__]
