"""Keeps a copy of your jobs in SQLite in sync. Run it with `sh run.sh`, or see README.md."""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
from collections.abc import Mapping
from typing import Any

from waymark_client import Gap, Waymark, whole_job
from waymark_client.errors import NotFoundError
from waymark_client.models import Event, Job

SCHEMA = """
create table if not exists jobs (
    marking_number text primary key, version integer not null, job text not null
);
create table if not exists position (id integer primary key check (id = 1), cursor text not null);
"""


class Mirror:
    """The copy and the position in the feed. `save` commits both: a crash repeats events and misses none."""

    def __init__(self, path: str, waymark: Waymark) -> None:
        self.waymark = waymark
        self.database = sqlite3.connect(path)
        self.database.executescript(SCHEMA)

    def load(self) -> str | None:
        """Returns the position of the last `save`."""
        row = self.database.execute("select cursor from position").fetchone()
        return None if row is None else str(row[0])

    def save(self, cursor: str) -> None:
        """Commits the position and the changes before it."""
        self.database.execute("insert or replace into position values (1, ?)", (cursor,))
        self.database.commit()

    def apply(self, event: Event) -> None:
        """Stores the job of an event, or deletes it."""
        if not event.type.startswith("job."):
            return
        job = whole_job(event)
        if job is not None:
            self._store(job)
        else:
            # You can no longer see the job.
            self.database.execute(
                "delete from jobs where marking_number = ? and version < ?",
                (event.data.job.marking_number, event.data.sequence),
            )
        print(f"{event.type} {event.data.job.marking_number} version {event.data.sequence}", flush=True)

    def reconcile(self, gap: Gap) -> None:
        """Copies all jobs and deletes those that you can no longer see, at the first start and after 410."""
        print(f"Reconciling: {gap.reason}", flush=True)
        unseen = {number for (number,) in self.database.execute("select marking_number from jobs")}
        for job in self.waymark.jobs.list(sort="created_at"):
            unseen.discard(job.marking_number)
            self._store(job)
        for number in unseen:
            # A job that was assigned to you while you listed can be missing from the list.
            try:
                found = self.waymark.jobs.get(number)
            except NotFoundError:
                self.database.execute("delete from jobs where marking_number = ?", (number,))
            else:
                self._store(found)
        print(f"{self.count()} jobs", flush=True)

    def count(self) -> int:
        """Returns the number of jobs."""
        return int(self.database.execute("select count(*) from jobs").fetchone()[0])

    def _store(self, job: Job) -> None:
        fields: Mapping[str, Any] = {
            name: value for name, value in job.to_dict().items() if name != "version"
        }
        self.database.execute(
            "insert into jobs values (?, ?, ?) on conflict (marking_number) do update"
            " set version = excluded.version, job = excluded.job where excluded.version > jobs.version",
            (job.marking_number, job.version, json.dumps(fields)),
        )


def main() -> None:
    parser = argparse.ArgumentParser(description="Keeps a copy of your jobs in SQLite in sync.")
    parser.add_argument("--database", default="mirror.db", help="file of the copy (default: mirror.db)")
    parser.add_argument(
        "--poll-interval", type=float, default=2, help="seconds between requests, at least 1 (default: 2)"
    )
    arguments = parser.parse_args()
    base_url = os.environ.get("WAYMARK_URL", "http://127.0.0.1:4000")
    with Waymark(api_key=os.environ["WAYMARK_KEY"], base_url=base_url) as waymark:
        mirror = Mirror(arguments.database, waymark)
        print(f"{mirror.count()} jobs at start", flush=True)
        events = waymark.events.follow(
            store=mirror, reconcile=mirror.reconcile, poll_interval=arguments.poll_interval
        )
        for event in events:
            mirror.apply(event)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        pass
