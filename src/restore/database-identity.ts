/** The identity of a database: cluster, database OID and timeline. A point-in-time restore starts a new timeline. */
import type { Queryable } from "../platform/postgres/database.ts";
import { invariant, StartupError } from "../platform/errors.ts";
import { raw, sql } from "../platform/postgres/sql.ts";

export interface DatabaseIdentity {
  /** Null: this PostgreSQL does not tell it. */
  readonly systemIdentifier: string | null;
  readonly databaseOid: string;
  /** Null: this PostgreSQL does not tell it. */
  readonly timeline: number | null;
}

interface IdentityRow {
  system_identifier: string | null;
  database_oid: string;
  timeline: number;
}

/** Stored in place of an unknown timeline; PostgreSQL's timelines start at 1. */
const UNKNOWN_TIMELINE = 0;

/** Reads the current identity. Throws StartupError on a standby, whose timeline may still change. */
export async function readIdentity(on: Queryable): Promise<DatabaseIdentity> {
  const [capabilities] = await on.query<{ is_standby: boolean; system: boolean; timeline: boolean }>(
    raw(`select pg_is_in_recovery() as is_standby, ${canExecuteSql("pg_control_system()")} as system,
      ${canExecuteSql("pg_current_wal_lsn()")} and ${canExecuteSql("pg_walfile_name(pg_lsn)")} as timeline`),
  );
  invariant(capabilities, "a select without from returns one row");
  if (capabilities.is_standby) throw standbyError();
  const system = capabilities.system ? "(select system_identifier::text from pg_control_system())" : "null";
  // Read the timeline from the current WAL file name: the control file has a new timeline only after the next checkpoint.
  const timeline = capabilities.timeline
    ? "('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int"
    : String(UNKNOWN_TIMELINE);
  const [row] = await on.query<IdentityRow>(
    raw(`select ${system} as system_identifier, oid::text as database_oid, ${timeline} as timeline
      from pg_database where datname = current_database()`),
  );
  invariant(row, "the current database is in pg_database");
  return toIdentity(row);
}

/** SQL that is true if the function exists and this role may call it; managed servers restrict some. */
function canExecuteSql(signature: string): string {
  return `coalesce(has_function_privilege(to_regprocedure('${signature}'), 'execute'), false)`;
}

function standbyError(): StartupError {
  return new StartupError(
    "This PostgreSQL is a standby or is still being restored, so it is read-only.",
    "Set DATABASE_URL to the primary, or promote this server (select pg_promote()) and start again.",
  );
}

/** Returns the identity stored at the last start; null at the first. */
export async function storedIdentity(on: Queryable): Promise<DatabaseIdentity | null> {
  const [row] = await on.query<IdentityRow>(
    raw("select system_identifier, database_oid, timeline from database_identity"),
  );
  return row ? toIdentity(row) : null;
}

/** Returns `identity` with unknown parts taken from `last`. */
export function withDefaults(identity: DatabaseIdentity, last: DatabaseIdentity): DatabaseIdentity {
  return {
    ...identity,
    systemIdentifier: identity.systemIdentifier ?? last.systemIdentifier,
    timeline: identity.timeline ?? last.timeline,
  };
}

export async function saveIdentity(
  on: Queryable,
  { systemIdentifier, databaseOid, timeline }: DatabaseIdentity,
): Promise<void> {
  await on.query(sql`
    insert into database_identity (id, system_identifier, database_oid, timeline)
    values (true, ${systemIdentifier}, ${databaseOid}, ${timeline ?? UNKNOWN_TIMELINE})
    on conflict (id) do update set system_identifier = excluded.system_identifier,
      database_oid = excluded.database_oid, timeline = excluded.timeline`);
}

function toIdentity(row: IdentityRow): DatabaseIdentity {
  return {
    systemIdentifier: row.system_identifier,
    databaseOid: row.database_oid,
    timeline: row.timeline === UNKNOWN_TIMELINE ? null : row.timeline,
  };
}
