/** The local copy of the jobs, in SQLite, and the position in the events feed up to which it is complete. */
import { DatabaseSync } from "node:sqlite";
import type { Event, EventJob } from "@waymark/client";

const SCHEMA = `
  create table if not exists job (
    id text primary key,
    marking_number text not null,
    version integer not null,
    -- Null: you can no longer see the job. The row stays, because an older event can come later.
    job text
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
  store(job: EventJob): boolean {
    const isWhole = job.normalized_status !== undefined;
    const upsert = this.#database.prepare(`
      insert into job (id, marking_number, version, job) values (?, ?, ?, ?)
      on conflict (id) do update set version = excluded.version, job = excluded.job
      where job.version < excluded.version`);
    const values = [job.id, job.marking_number, job.version, isWhole ? JSON.stringify(job) : null];
    return upsert.run(...values).changes === 1;
  }

  /** Stores the changes and the cursor after them in one transaction. Returns the number of changes that were new. */
  apply(events: readonly Event[], cursor: string): number {
    this.#database.exec("begin immediate");
    try {
      const stored = events.filter(({ data }) => this.store(data.job));
      this.setCursor(cursor);
      this.#database.exec("commit");
      return stored.length;
    } catch (error) {
      this.#database.exec("rollback");
      throw error;
    }
  }

  /** Deletes a job that the API no longer returns. */
  delete(id: string): void {
    this.#database.prepare("update job set job = null where id = ?").run(id);
  }

  /** The Marking Numbers of the jobs, by ID. */
  markingNumbers(): Map<string, string> {
    const rows = this.#database.prepare("select id, marking_number from job where job is not null").all();
    return new Map(rows.map((row) => [String(row["id"]), String(row["marking_number"])]));
  }

  close(): void {
    this.#database.close();
  }
}
