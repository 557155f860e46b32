"""Lists all jobs while they change, and prints the Marking Numbers and the number of changes during the list."""

from __future__ import annotations

import asyncio
import itertools
import json
import os

from waymark_client import AsyncWaymark


async def main() -> None:
    async with AsyncWaymark(api_key=os.environ["WAYMARK_KEY"], base_url=os.environ["WAYMARK_URL"]) as waymark:
        known = [job.marking_number async for job in waymark.jobs.list(sort="created_at")]
        changed = 0
        is_listing = True

        async def change() -> None:
            nonlocal changed
            # From both ends of the list: jobs that were returned already, and jobs that follow.
            numbers = itertools.cycle(itertools.chain.from_iterable(zip(known, reversed(known))))
            weights = itertools.count(1)
            while is_listing:
                jobs = [{"marking_number": next(numbers), "weight": next(weights)} for _ in range(25)]
                async for result in waymark.jobs.update_many(jobs):
                    changed += result.success

        changing = asyncio.create_task(change())
        listed: list[str] = []
        async for job in waymark.jobs.list():
            listed.append(job.marking_number)
            if len(listed) % 100 == 1:
                # Some jobs change before the next page is read.
                before = changed
                while changed < before + 25:
                    await asyncio.sleep(0)
        is_listing = False
        await changing
    print(json.dumps({"listed": listed, "changed": changed}))


asyncio.run(main())
