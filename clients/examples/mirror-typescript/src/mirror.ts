/** The local copy of the jobs, in SQLite, and the position in the events feed up to which it is complete. */
import { DatabaseSync } from "node:sqlite";
import { type Event, isJobEvent, type Job } from "@waymark/client";

const SCHEMA = `
  create table if not exists job (
    marking_number text primary key,
    version integer not null,
    job text not null
  ) strict;
  create table if not exists position (
    only_row integer primary key check (only_row = 1),
    cursor text not null
  ) strict;
`;

export class Mirror {
  readonly #database: DatabaseSync;

  constructor(path: string) {
    this.#database = new DatabaseSync(path);
    this.#database.exec("pragma journal_mode = wal; pragma busy_timeout = 5000;");
    this.#database.exec(SCHEMA);
  }

  /** Returns null before the first copy is complete. */
  cursor(): string | null {
    const row = this.#database.prepare("select cursor from position").get();
    return row ? String(row["cursor"]) : null;
  }

  setCursor(cursor: string): void {
    const upsert = this.#database.prepare(`
      insert into position (only_row, cursor) values (1, ?)
      on conflict (only_row) do update set cursor = excluded.cursor`);
    upsert.run(cursor);
  }

  /** Stores the job, unless the mirror has this version or a newer one. Returns true if it was stored. */
  store(job: Job): boolean {
    const upsert = this.#database.prepare(`
      insert into job (marking_number, version, job) values (?, ?, ?)
      on conflict (marking_number) do update set version = excluded.version, job = excluded.job
      where job.version < excluded.version`);
    return upsert.run(job.marking_number, job.version, JSON.stringify(job)).changes === 1;
  }

  /** Removes a job that you can no longer see, unless the mirror has a newer version. Returns true if it was removed. */
  remove(markingNumber: string, version: number): boolean {
    const remove = this.#database.prepare("delete from job where marking_number = ? and version < ?");
    return remove.run(markingNumber, version).changes === 1;
  }

  /** Stores the changes and the cursor after them in one transaction. Returns the number of changes that were new. */
  apply(events: readonly Event[], cursor: string): number {
    this.#database.exec("begin immediate");
    try {
      const stored = events.filter((event) =>
        isJobEvent(event)
          ? this.store(event.data.job)
          : this.remove(event.data.job.marking_number, event.data.sequence),
      );
      this.setCursor(cursor);
      this.#database.exec("commit");
      return stored.length;
    } catch (error) {
      this.#database.exec("rollback");
      throw error;
    }
  }

  markingNumbers(): Set<string> {
    const rows = this.#database.prepare("select marking_number from job").all();
    return new Set(rows.map((row) => String(row["marking_number"])));
  }

  close(): void {
    this.#database.close();
  }
}
