"""Keeps a copy of your jobs in SQLite in sync. Run it with `sh run.sh`, or see README.md."""

from __future__ import annotations

import argparse
import json
import os
import sqlite3

from waymark_client import Gap, Waymark, whole_job
from waymark_client.errors import NotFoundError
from waymark_client.models import Event, EventJob, Job

SCHEMA = """
create table if not exists jobs (
    -- A job of null: you can no longer see it. The row stays, because an older event can come later.
    id text primary key, marking_number text not null, version integer not null, job text
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
        """Stores the job of an event. A webhook, which can arrive late or twice, could use it too."""
        if not event.type.startswith("job."):
            return
        self._store(event.data.job, whole_job(event))
        print(f"{event.type} {event.data.job.marking_number} version {event.data.sequence}", flush=True)

    def reconcile(self, gap: Gap) -> None:
        """Copies all jobs and deletes those that you can no longer see, at the first start and after 410."""
        print(f"Reconciling: {gap.reason}", flush=True)
        unseen = dict(
            self.database.execute("select id, marking_number from jobs where job is not null").fetchall()
        )
        for job in self.waymark.jobs.list(sort="created_at"):
            unseen.pop(job.id, None)
            self._store(job, job)
        for job_id, number in unseen.items():
            # A job that was assigned to you while you listed can be missing from the list.
            try:
                found = self.waymark.jobs.get(number)
            except NotFoundError:
                self.database.execute("update jobs set job = null where id = ?", (job_id,))
            else:
                self._store(found, found)
        print(f"{self.count()} jobs", flush=True)

    def count(self) -> int:
        """Returns the number of jobs."""
        return int(self.database.execute("select count(*) from jobs where job is not null").fetchone()[0])

    def _store(self, version: Job | EventJob, job: Job | None) -> None:
        content = None if job is None else json.dumps(job.to_dict())
        self.database.execute(
            "insert into jobs values (?, ?, ?, ?) on conflict (id) do update"
            " set version = excluded.version, job = excluded.job where excluded.version > jobs.version",
            (version.id, version.marking_number, version.version, content),
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
