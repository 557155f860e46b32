/** Starts a separate PostgreSQL primary, to which tests can add standbys. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { toFlags, primaryFlags, startStandby, type Standby } from "./standby.ts";
import { openEmbeddedPostgres } from "../../../src/dev/postgres/embedded-postgres.ts";
import { entities } from "../../../src/app/entities.ts";
import { openDatabase, type Database } from "../../../src/core/postgres/database.ts";
import { migrateDatabase } from "../../../src/core/postgres/migrate.ts";

export type { Standby };

export interface ReplicatedPostgres extends AsyncDisposable {
  /** URL of the migrated database. */
  readonly url: string;
  readonly primary: Database;
  /** Starts a standby, which is stopped with the primary. `flags` are further arguments of `postgres`. */
  addStandby(flags?: readonly string[]): Promise<Standby>;
}

/** Test data need not survive a crash. */
const NO_FSYNC_FLAGS = toFlags(["fsync=off"]);

export async function startReplicatedPostgres(): Promise<ReplicatedPostgres> {
  await using stack = new AsyncDisposableStack();
  const dataDir = await mkdtemp(join(tmpdir(), "waymark-standby-"));
  stack.defer(() => rm(dataDir, { recursive: true, force: true }));
  const postgresFlags = [...primaryFlags, ...NO_FSYNC_FLAGS];
  const { url } = stack.use(await openEmbeddedPostgres({ dataDir, exclusive: true, postgresFlags }));
  await migrateDatabase({ url, poolSize: 2, entities });
  const primary = stack.use(await openDatabase({ url, poolSize: 2, entities }));
  const resources = stack.move();
  return {
    url,
    primary,
    addStandby: async (flags = []) =>
      resources.use(await startStandby({ dataDir, primaryUrl: url, flags: [...NO_FSYNC_FLAGS, ...flags] })),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}
