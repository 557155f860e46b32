/** The identity of a database: cluster, database OID and timeline. A point-in-time restore starts a new timeline. */
import { defineEntity, p } from "@mikro-orm/postgresql";
import type { Queryable, Reader } from "../core/postgres/database.ts";
import { invariant, StartupError } from "../core/errors.ts";
import { raw } from "../core/postgres/sql.ts";
import { toIsoTime } from "../core/time.ts";

/** One row, written at the first start. After a restore or copy, it differs from the actual cluster. */
export const DatabaseIdentityRecord = defineEntity({
  name: "DatabaseIdentityRecord",
  tableName: "database_identity",
  properties: {
    id: p.boolean().primary(),
    /** Null if this PostgreSQL does not allow reading it. */
    systemIdentifier: p.text().nullable(),
    databaseOid: p.text(),
    /** 0 if this PostgreSQL does not allow reading it. */
    timeline: p.integer(),
    /** A known text encrypted with WAYMARK_SECRET; null until a process with a secret starts. */
    secretCheck: p.text().nullable(),
  },
});

export interface DatabaseIdentity {
  readonly systemIdentifier: string | null;
  readonly databaseOid: string;
  readonly timeline: number;
}

/** Reads the current identity. Throws StartupError on a standby, whose timeline may still change. */
export async function readIdentity(on: Queryable): Promise<DatabaseIdentity> {
  const [capabilities] = await on.query<{ is_standby: boolean; system: boolean; timeline: boolean }>(
    raw(`select pg_is_in_recovery() as is_standby, ${canExecuteSql("pg_control_system()")} as system,
      ${canExecuteSql("pg_current_wal_lsn()")} and ${canExecuteSql("pg_walfile_name(pg_lsn)")} as timeline`),
  );
  invariant(capabilities, "a select without from returns one row");
  if (capabilities.is_standby)
    throw new StartupError(
      "This PostgreSQL is a standby or is still being restored, so it is read-only.",
      "Set DATABASE_URL to the primary, or promote this server (select pg_promote()) and start again.",
    );
  const system = capabilities.system ? "(select system_identifier::text from pg_control_system())" : "null";
  // Read the timeline from the current WAL file name: the control file has a new timeline only after the next checkpoint.
  const timeline = capabilities.timeline
    ? "('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int"
    : "0";
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

/** Returns the identity and the secret check stored at the last start; null at the first. */
export async function storedIdentity(on: Reader) {
  return await on.em().findOne(DatabaseIdentityRecord, { id: true }, { disableIdentityMap: true });
}

export async function saveIdentity(on: Reader, identity: DatabaseIdentity): Promise<void> {
  await on.em().upsert(DatabaseIdentityRecord, { id: true, ...identity });
}

export async function saveSecretCheck(on: Reader, secretCheck: string): Promise<void> {
  await on.em().nativeUpdate(DatabaseIdentityRecord, { id: true }, { secretCheck });
}

/** Returns the time of the newest event; null if there are no events. */
export async function newestEventAt(on: Queryable): Promise<string | null> {
  const [row] = await on.query<{ occurred_at: string }>(
    raw("select occurred_at from job_event order by id desc limit 1"),
  );
  return row ? toIsoTime(row.occurred_at) : null;
}
