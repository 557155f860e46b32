/** The embedded PostgreSQL. One process owns it; commands use the one of a running Waymark server. */
import { join } from "node:path";
import { StartupError } from "../../core/errors.ts";
import { MINUTE_MS } from "../../core/time.ts";
import { prepareDataFolder } from "../data-folder.ts";
import { acquireLock, isLocked } from "../lock-file.ts";
import { OwnedServer } from "../owned-server.ts";
import { NotYet, retry } from "../retry.ts";
import { folderError } from "../system-errors.ts";
import { clusterPaths, prepareCluster } from "./cluster.ts";
import { connectToPostmaster } from "./connect.ts";
import { createPostgresProgram } from "./postmaster.ts";

export interface EmbeddedPostgresOptions {
  readonly dataDir: string;
  /** True for the Waymark server, of which a data folder allows only one; false for commands, which use its PostgreSQL. */
  readonly exclusive: boolean;
  /** Additional arguments of `postgres`, used if this call starts it. */
  readonly postgresFlags?: readonly string[];
  /** Receives progress messages, one sentence each. */
  readonly onProgress?: (sentence: string) => void;
}

export interface EmbeddedPostgres {
  /** Connection string with password. */
  readonly url: string;
  /** Stops PostgreSQL, unless it belongs to a running Waymark server. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** Starts PostgreSQL, or returns the one of a running Waymark server. Resolves once it accepts connections. Throws StartupError. */
export async function openEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { exclusive, postgresFlags = [], onProgress = () => undefined } = options;
  await using stack = new AsyncDisposableStack();
  const paths = clusterPaths(await prepareDataFolder(options.dataDir));
  const hint = `If a command is running, wait for its end. Otherwise check ${paths.logFile}. Then try again.`;
  const wait = { onProgress, timeoutMs: MINUTE_MS, hint };
  const usedUrl = await retry(async () => {
    const unlock = lockFolder(paths.dataDir, exclusive);
    if (unlock === null) return await connectToPostmaster(paths, false);
    stack.defer(unlock);
    return null;
  }, wait);
  if (usedUrl !== null) return { url: usedUrl.href, [Symbol.asyncDispose]: () => Promise.resolve() };
  try {
    const cluster = await prepareCluster(paths.dataDir, onProgress);
    const program = createPostgresProgram(cluster, postgresFlags);
    stack.use(await OwnedServer.start(program, wait));
    const owned = stack.move();
    return { url: program.url(), [Symbol.asyncDispose]: () => owned.disposeAsync() };
  } catch (error) {
    throw folderError(paths.dataDir, error);
  }
}

/**
 * Returns the release function for the owner of PostgreSQL; null if a Waymark server owns it, which commands then use. Throws
 * NotYet while a command owns it. A server holds `server.lock` only while it owns PostgreSQL.
 */
function lockFolder(dataDir: string, exclusive: boolean): (() => void) | null {
  const serverLock = join(dataDir, "server.lock");
  const release = acquireLock(join(dataDir, "postgres.lock"));
  if (release === null) {
    if (!isLocked(serverLock)) throw new NotYet("A Waymark command is using PostgreSQL in the data folder.");
    if (!exclusive) return null;
    throw new StartupError(
      `The data folder ${dataDir} is already in use by another Waymark server.`,
      "Stop that server first, or set WAYMARK_DATA_DIR to another folder.",
    );
  }
  if (!exclusive) return release;
  const releaseServer = acquireLock(serverLock);
  if (releaseServer === null) {
    release();
    throw new NotYet("A Waymark command is checking whether a server runs.");
  }
  return () => {
    releaseServer();
    release();
  };
}
