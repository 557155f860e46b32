/** The identity of a database: cluster, database OID and timeline. A point-in-time restore starts a new timeline. */
import type { Queryable, Reader } from "../core/postgres/database.ts";
import { invariant, StartupError } from "../core/errors.ts";
import { raw } from "../core/postgres/sql.ts";
import { toIsoTime } from "../core/time.ts";
import { DatabaseIdentityRecord } from "./database-identity.entity.ts";

export interface DatabaseIdentity {
  /** Null: this PostgreSQL does not tell it. */
  readonly systemIdentifier: string | null;
  readonly databaseOid: string;
  /** Null: this PostgreSQL does not tell it. */
  readonly timeline: number | null;
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
    : "null::int";
  const [identity] = await on.query<DatabaseIdentity>(
    raw(`select ${system} as "systemIdentifier", oid::text as "databaseOid", ${timeline} as timeline
      from pg_database where datname = current_database()`),
  );
  invariant(identity, "the current database is in pg_database");
  return identity;
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
export async function storedIdentity(on: Reader): Promise<DatabaseIdentity | null> {
  const record = await findRecord(on);
  if (!record) return null;
  const { systemIdentifier, databaseOid, timeline } = record;
  return {
    systemIdentifier: systemIdentifier ?? null,
    databaseOid,
    timeline: timeline === UNKNOWN_TIMELINE ? null : timeline,
  };
}

/** Returns `identity` with unknown parts taken from `last`. */
export function withDefaults(identity: DatabaseIdentity, last: DatabaseIdentity): DatabaseIdentity {
  return {
    ...identity,
    systemIdentifier: identity.systemIdentifier ?? last.systemIdentifier,
    timeline: identity.timeline ?? last.timeline,
  };
}

export async function saveIdentity(on: Reader, identity: DatabaseIdentity): Promise<void> {
  const timeline = identity.timeline ?? UNKNOWN_TIMELINE;
  await on.em().upsert(DatabaseIdentityRecord, { id: true, ...identity, timeline });
}

/** Returns the sealed check value of WAYMARK_SECRET; null if none is stored. */
export async function storedSecretCheck(on: Reader): Promise<string | null> {
  return (await findRecord(on))?.secretCheck ?? null;
}

/** Stores a sealed check value. Without `replace` it keeps one that is stored already. */
export async function saveSecretCheck(
  on: Reader,
  sealed: string,
  { replace }: { replace: boolean },
): Promise<void> {
  const where = replace ? {} : { secretCheck: null };
  await on.em().nativeUpdate(DatabaseIdentityRecord, where, { secretCheck: sealed });
}

function findRecord(on: Reader) {
  return on.em().findOne(DatabaseIdentityRecord, { id: true }, { disableIdentityMap: true });
}

/** Returns the time of the newest event; null if there are no events. */
export async function newestEventAt(on: Queryable): Promise<string | null> {
  const [row] = await on.query<{ occurred_at: string }>(
    raw("select occurred_at from job_event order by id desc limit 1"),
  );
  return row ? toIsoTime(row.occurred_at) : null;
}
