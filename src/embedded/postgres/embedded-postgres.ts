/** The embedded PostgreSQL: one server for all processes that use a data folder. */
import { MINUTE_MS } from "../../platform/time.ts";
import { isFree } from "../free-port.ts";
import { shareServer, type ServerProgram, type SharedServer } from "../shared-server.ts";
import type { StartupWait } from "../startup-wait.ts";
import { folderError } from "../system-errors.ts";
import { prepareCluster, superuser, type Cluster } from "./cluster.ts";
import { connectToPostmaster, databaseName } from "./connect.ts";
import { findPostmaster, readLastPort } from "./postmaster-pid.ts";
import { startPostmaster, stopPostmaster } from "./postmaster.ts";

export interface EmbeddedPostgresOptions {
  readonly dataDir: string;
  /** True for the Waymark server, of which a data folder allows only one; false for commands. */
  readonly exclusive: boolean;
  /** Additional arguments of `postgres`, used if this call starts it. */
  readonly postgresFlags?: readonly string[];
  /** Receives progress messages, one sentence each. */
  readonly onProgress?: (sentence: string) => void;
}

export interface EmbeddedPostgres extends SharedServer {
  /** Connection string with password, valid until disposal. */
  readonly url: string;
}

/** Starts or joins the server, and resolves once it accepts connections. Throws StartupError. */
export async function openEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { dataDir, exclusive, postgresFlags = [], onProgress = () => undefined } = options;
  const cluster = await prepareCluster(dataDir, onProgress).catch((error: unknown) => {
    throw folderError(dataDir, error);
  });
  const server = createPostgresServer(cluster, postgresFlags);
  const shared = await shareServer(server, {
    exclusive,
    stopping: new AbortController(),
    onProgress,
    timeoutMs: MINUTE_MS,
    hint: `Check ${cluster.logFile}, then try again.`,
  });
  return {
    url: `postgres://${superuser}:${cluster.password}@127.0.0.1:${server.port()}/${databaseName}`,
    ...shared,
  };
}

/** How long to wait for a killed server's port: its child processes hold it briefly, and other processes know its URL. */
const portRetryMs = 5_000;

/** `port` returns the port of the first connection, on which a killed server is restarted; 0 before. */
function createPostgresServer(
  cluster: Cluster,
  flags: readonly string[],
): ServerProgram & { port: () => number } {
  const { clusterDir, dataDir } = cluster;
  let usedPort = 0;
  let takenSinceMs: number | null = null;

  const start = async (wait: StartupWait): Promise<void> => {
    const port = usedPort === 0 ? await readLastPort(clusterDir) : usedPort;
    // Check only once: other processes that check listen on the port briefly, so a second result could differ.
    if (port === 0 || (await isFree(port))) {
      takenSinceMs = null;
      return await startPostmaster(cluster, { port, flags }, wait);
    }
    takenSinceMs ??= performance.now();
    if (usedPort === 0 && performance.now() - takenSinceMs > portRetryMs)
      return await startPostmaster(cluster, { port: 0, flags }, wait);
    await wait.pauseOrFail(`Port ${port}, which PostgreSQL used before, is in use.`);
  };

  return {
    name: "PostgreSQL",
    filePrefix: "postgres",
    dataDir,
    find: () => findPostmaster(clusterDir),
    start,
    async connect(wait) {
      const port = await connectToPostmaster(cluster, wait);
      if (usedPort === 0) usedPort = port ?? 0;
      return port !== null;
    },
    stop: () => stopPostmaster(clusterDir),
    port: () => usedPort,
  };
}
