/** MikroORM's configuration, for the server, migrations and MikroORM's command line. */
import { fileURLToPath } from "node:url";
import { Migrator } from "@mikro-orm/migrations";
import { defineConfig, type Options } from "@mikro-orm/postgresql";
import { parseIntoClientConfig } from "pg-connection-string";
import { ParameterDriver } from "./parameter-driver.ts";

export interface DatabaseOptions {
  url: string;
  poolSize: number;
  entities: NonNullable<Options["entities"]>;
  /** PostgreSQL settings for this pool's sessions, in addition to the default ones. */
  session?: Readonly<Record<string, string>>;
}

/** PostgreSQL cancels a longer statement, and its request gets a 503. */
export const STATEMENT_TIMEOUT_MS = 10_000;
const CONNECT_TIMEOUT_MS = 3_000;

export function ormOptions(options: DatabaseOptions): Options {
  const { session = {} } = options;
  const sessionFlags = Object.entries(session).map(([name, value]) => ` -c ${name}=${value}`);
  return defineConfig({
    driver: ParameterDriver,
    clientUrl: options.url,
    entities: options.entities,
    extensions: [Migrator],
    // A mistyped database name must fail, not create a database.
    ensureDatabase: false,
    pool: { min: 0, max: options.poolSize },
    driverOptions: {
      application_name: "waymark",
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      keepAlive: true,
      // MikroORM ignores the parameters of the URL: without this, `?sslmode=verify-full` would connect in plain text.
      ssl: parseIntoClientConfig(options.url).ssl,
      // `toIsoTime` expects UTC and ISO dates. Generic plans: with the page limit as a parameter, PostgreSQL would plan each
      // list again, which takes longer than running it.
      options: `-c timezone=UTC -c DateStyle=ISO -c plan_cache_mode=force_generic_plan -c statement_timeout=${STATEMENT_TIMEOUT_MS} -c idle_in_transaction_session_timeout=30000${sessionFlags.join("")}`,
    },
    migrations: {
      path: fileURLToPath(new URL("../../migrations", import.meta.url)),
      snapshotName: "schema",
      snapshotOnMigrate: false,
      // One transaction per migration: a migration must not hold a table lock while the next one waits for another table. A
      // single transaction would also rule out `create index concurrently`.
      allOrNothing: false,
      fileName: (timestamp, name) => `${timestamp}-${name ?? "schema"}`,
    },
    // Migrations define these tables, functions and triggers by hand, because entities cannot express them.
    schemaGenerator: {
      skipTables: [/^webhook_(delivery|attempt)/, /^request_(log|usage)/, "job_search"],
      ignoreRoutines: true,
      ignoreTriggers: true,
    },
    logger: () => undefined,
  });
}
