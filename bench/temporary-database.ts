/** Additional databases on the benchmark's server. */
import pg from "pg";

/** Creates an empty database; drops an existing one of this name. */
export async function recreateDatabase(serverUrl: string, name: string): Promise<void> {
  const admin = new pg.Client({ connectionString: serverUrl });
  await admin.connect();
  await admin.query(`drop database if exists ${name} with (force)`);
  await admin.query(`create database ${name}`);
  await admin.query(`alter database ${name} set pg_stat_statements.track = 'top'`);
  await admin.end();
}
