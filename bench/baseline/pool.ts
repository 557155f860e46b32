/** The connections of the servers that Waymark is compared with. */
import pg from "pg";

/** Opens a pool of 10 connections to DATABASE_URL, which returns dates and times as PostgreSQL's text. */
export function openPool(applicationName: string): pg.Pool {
  for (const type of [pg.types.builtins.DATE, pg.types.builtins.TIMESTAMPTZ])
    pg.types.setTypeParser(type, (text) => text);
  return new pg.Pool({
    connectionString: process.env["DATABASE_URL"],
    max: 10,
    application_name: applicationName,
    options: "-c timezone=UTC -c plan_cache_mode=force_generic_plan",
  });
}
