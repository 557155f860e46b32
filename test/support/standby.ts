/** A PostgreSQL of a test file's own that standbys can follow. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { flagsOf, primaryFlags, startStandby, type Standby } from "../../bench/replicas/standby.ts";
import { openEmbeddedPostgres } from "../../src/embedded/postgres.ts";
import { entities } from "../../src/entities.ts";
import { openDatabase, type Database } from "../../src/platform/database.ts";
import { migrateDatabase } from "../../src/platform/migrate.ts";

export type { Standby };

export interface ReplicatedPostgres extends AsyncDisposable {
  /** Its database, migrated. */
  readonly url: string;
  readonly primary: Database;
  /** Makes one and starts it, to be ended with the primary. `flags`: further arguments of `postgres`. */
  addStandby(flags?: readonly string[]): Promise<Standby>;
}

/** What nobody keeps needs no disk. */
const hasty = flagsOf(["fsync=off"]);

export async function startReplicatedPostgres(): Promise<ReplicatedPostgres> {
  await using opened = new AsyncDisposableStack();
  const dataDir = await mkdtemp(join(tmpdir(), "waymark-standby-"));
  opened.defer(() => rm(dataDir, { recursive: true, force: true }));
  const postgresFlags = [...primaryFlags, ...hasty];
  const { url } = opened.use(await openEmbeddedPostgres({ dataDir, exclusive: true, postgresFlags }));
  await migrateDatabase({ url, poolSize: 2, entities });
  const primary = opened.use(await openDatabase({ url, poolSize: 2, entities }));
  const held = opened.move();
  return {
    url,
    primary,
    addStandby: async (flags = []) =>
      held.use(await startStandby({ dataDir, primaryUrl: url, flags: [...hasty, ...flags] })),
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}
