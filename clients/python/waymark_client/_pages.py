"""Lists over all pages, and updates in batches, as steps."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Mapping
from typing import Any

from ._calls import Call, Emit, Headers, RetryPolicy, Run, Steps, key_in, perform
from ._generated import operations
from ._generated.models import BatchItem, BatchUpdate
from ._model import UNSET, Model, Unset, encode_body

BATCH_SIZE = 100

JobChange = BatchItem | Mapping[str, Any]
NextJobs = Callable[[], list[JobChange] | Awaitable[list[JobChange]]]


def every_item(
    get_page: Callable[..., Call[Any]], parameter: str, policy: RetryPolicy, headers: Headers
) -> Steps[None]:
    """Emits each item of all pages once. `parameter` is the one that takes the position of the next page."""
    position: dict[str, str | int] = {}
    # New items at the start of a list by page number move others to the next page.
    emitted: set[str] = set()
    while True:
        page = yield from perform(get_page(**position).with_headers(headers), policy)
        for item in page.items:
            if parameter != "page" or _is_new(item, emitted):
                yield Emit(item)
        following = _page_number_after(page) if parameter == "page" else _cursor_after(page)
        if following is None:
            return
        position = {parameter: following}


def _is_new(item: Any, emitted: set[str]) -> bool:
    """Returns whether the ID is not in `emitted`, and adds it."""
    key = getattr(item, "id", None)
    if not isinstance(key, str):
        return True
    is_new = key not in emitted
    emitted.add(key)
    return is_new


def _cursor_after(page: Any) -> str | None:
    if getattr(page, "has_more", True) is False:
        return None
    cursor: str | None = getattr(page, "pagination", page).next_cursor
    return cursor or None


def _page_number_after(page: Any) -> int | None:
    position = page.pagination
    is_last = not page.items or position.page * position.page_size >= position.total
    return None if is_last else int(position.page) + 1


def update_in_batches(
    next_jobs: NextJobs,
    policy: RetryPolicy,
    dry_run: bool,
    idempotency_key: str | Unset,
    headers: Headers,
) -> Steps[None]:
    """Emits the result of each job, in their order. Each batch has its own Idempotency-Key."""
    own_key = idempotency_key if isinstance(idempotency_key, str) else key_in(headers)
    for number in itertools.count(1):
        jobs = yield Run(next_jobs)
        if not jobs:
            return
        batch = BatchUpdate(jobs=[_batch_item(job) for job in jobs])
        key = UNSET if own_key is None else f"{own_key}-{number}"
        call = operations.update_jobs(batch, dry_run=dry_run, idempotency_key=key)
        result = yield from perform(call.with_headers(headers), policy)
        for item in result.results:
            yield Emit(item)


def in_batches(jobs: Iterable[JobChange]) -> NextJobs:
    """Returns a function that reads the next batch; an empty list is the end."""
    remaining = iter(jobs)
    return lambda: list(itertools.islice(remaining, BATCH_SIZE))


def in_async_batches(jobs: AsyncIterable[JobChange]) -> NextJobs:
    """Returns a function like `in_batches`, whose result must be awaited."""
    remaining = aiter(jobs)

    async def next_jobs() -> list[JobChange]:
        batch: list[JobChange] = []
        async for job in remaining:
            batch.append(job)
            if len(batch) == BATCH_SIZE:
                break
        return batch

    return next_jobs


def _batch_item(job: Model | Mapping[str, Any]) -> BatchItem:
    return job if isinstance(job, BatchItem) else BatchItem.from_dict(encode_body(job))
