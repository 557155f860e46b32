/** Where a database lies: the cluster, the database in it, and the cluster's timeline, which each restore to a moment begins anew. */
import type { Queryable } from "../platform/database.ts";
import { invariant } from "../platform/errors.ts";
import { raw, sql } from "../platform/sql.ts";

export interface Place {
  /** Null: this PostgreSQL does not tell it. */
  readonly systemIdentifier: string | null;
  readonly databaseOid: string;
  readonly timeline: number;
}

interface PlaceRow {
  system_identifier: string | null;
  database_oid: string;
  timeline: number;
}

/** Where this database lies now. */
export async function placeOf(on: Queryable): Promise<Place> {
  const [right] = await on.query<{ may: boolean }>(
    raw("select has_function_privilege('pg_control_system()', 'execute') as may"),
  );
  const system = right?.may ? raw("(select system_identifier::text from pg_control_system())") : raw("null");
  // By the name of the file that is written now: the control file learns of a new timeline only by its next checkpoint.
  const [row] = await on.query<PlaceRow>(sql`
    select ${system} as system_identifier, oid::text as database_oid,
      ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int as timeline
    from pg_database where datname = current_database()`);
  invariant(row, "the database that is asked is there");
  return toPlace(row);
}

/** Where it was last used; null: nowhere yet. */
export async function lastPlaceOf(on: Queryable): Promise<Place | null> {
  const [row] = await on.query<PlaceRow>(
    raw("select system_identifier, database_oid, timeline from database_mark"),
  );
  return row ? toPlace(row) : null;
}

export async function keepPlace(
  on: Queryable,
  { systemIdentifier, databaseOid, timeline }: Place,
): Promise<void> {
  await on.query(sql`
    insert into database_mark (id, system_identifier, database_oid, timeline)
    values (true, ${systemIdentifier}, ${databaseOid}, ${timeline})
    on conflict (id) do update set system_identifier = excluded.system_identifier,
      database_oid = excluded.database_oid, timeline = excluded.timeline`);
}

function toPlace(row: PlaceRow): Place {
  return {
    systemIdentifier: row.system_identifier,
    databaseOid: row.database_oid,
    timeline: row.timeline,
  };
}
