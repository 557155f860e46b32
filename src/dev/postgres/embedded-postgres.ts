/** The embedded PostgreSQL. One process owns it; commands use the one of a running Waymark server. */
import { randomInt } from "node:crypto";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import { StartupError } from "../../core/errors.ts";
import { folderError, prepareDataFolder, readIfPresent, readOrCreateKey } from "../data-folder.ts";
import { acquireLock } from "../lock.ts";
import { OwnedServer, spawnAs, type ServerProgram } from "../owned-server.ts";
import { clusterPaths, prepareCluster, superuser, type Cluster, type ClusterPaths } from "./cluster.ts";

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

/** Passed at each start instead of stored in the cluster, so that a newer Waymark applies its own settings. */
const settings: Readonly<Record<string, string>> = {
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "",
  max_connections: "100",
  shared_buffers: "128MB",
  fsync: "on",
  min_wal_size: "32MB",
  max_wal_size: "512MB",
  // An embedded server has no replicas and no WAL archive.
  wal_level: "minimal",
  max_wal_senders: "0",
  timezone: "UTC",
  log_timezone: "UTC",
  // Log errors without the statement, its parameters or the row, which contain personal data.
  log_line_prefix: "%m [%p] %e ",
  log_error_verbosity: "terse",
  log_min_error_statement: "panic",
  log_parameter_max_length: "0",
  log_parameter_max_length_on_error: "0",
  log_checkpoints: "off",
};

const databaseName = "waymark";
const lockPollMs = 50;
/** SQLSTATE: the password is wrong. */
const wrongPassword = "28P01";

/** Starts PostgreSQL, or returns the one of a running Waymark server. Resolves once it accepts connections. Throws StartupError. */
export async function openEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { exclusive, postgresFlags = [], onProgress = () => undefined } = options;
  const paths = clusterPaths(await prepareDataFolder(options.dataDir));
  await using stack = new AsyncDisposableStack();
  const usedUrl = await lockOrUse(paths, exclusive, { onProgress, stack });
  if (usedUrl !== null) return { url: usedUrl.href, [Symbol.asyncDispose]: () => Promise.resolve() };
  try {
    const program = createProgram(await prepareCluster(paths.dataDir, onProgress), postgresFlags);
    stack.use(await OwnedServer.start(program));
    const owned = stack.move();
    return { url: program.url(), [Symbol.asyncDispose]: () => owned.disposeAsync() };
  } catch (error) {
    throw folderError(paths.dataDir, error);
  }
}

/**
 * Takes the lock of PostgreSQL, and returns null; or returns the URL of a running Waymark server's PostgreSQL for a command. Waits
 * for the end of a command that holds the lock. Throws StartupError.
 */
async function lockOrUse(
  paths: ClusterPaths,
  exclusive: boolean,
  { onProgress, stack }: { onProgress: (sentence: string) => void; stack: AsyncDisposableStack },
): Promise<URL | null> {
  for (let isReported = false; ; await pause(lockPollMs)) {
    const lock = acquireLock(join(paths.dataDir, "postgres.lock"), exclusive ? "service" : "command");
    if (typeof lock === "function") {
      stack.defer(lock);
      return null;
    }
    if (lock === "command") {
      if (!isReported) onProgress("Waiting for a Waymark command that uses PostgreSQL in the data folder.");
      isReported = true;
    } else if (exclusive) {
      throw new StartupError(
        `The data folder ${paths.dataDir} is already in use by another Waymark server.`,
        "Stop that server first, or set WAYMARK_DATA_DIR to another folder.",
      );
    } else {
      const url = await connect(paths).catch((error: unknown) => {
        if (error instanceof StartupError) throw error;
      });
      if (url !== undefined) return url;
    }
  }
}

function createProgram(cluster: Cluster, flags: readonly string[]): ServerProgram & { url: () => string } {
  const { clusterDir, logFile, account, postgres } = cluster;
  // A restarted server keeps its port, because its users know the URL.
  let url: URL | undefined;
  return {
    name: "PostgreSQL",
    logFile,
    hint: `Fix the errors in ${logFile}, or set WAYMARK_DATA_DIR to a new folder.`,
    pidFile: join(clusterDir, "postmaster.pid"),
    commandLine: ` -D ${clusterDir} -p `,
    // A fast shutdown, and after 30 seconds an immediate one without a checkpoint.
    stopSignals: [
      ["SIGINT", 30_000],
      ["SIGQUIT", 10_000],
    ],
    url: () => url?.href ?? "",
    spawn(options) {
      // Below the ephemeral ports (from 32768 on Linux): the system could give one of them to an outgoing connection during a restart.
      const port = url?.port ?? String(randomInt(15_000, 32_768));
      const settingArgs = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
      return spawnAs(account, postgres, ["-D", clusterDir, "-p", port, ...settingArgs, ...flags], options);
    },
    async connect() {
      url = await connect(cluster);
    },
  };
}

/** Returns the URL of the running server's database. Rejects while it cannot be used; with StartupError if the password is wrong. */
async function connect({ clusterDir, passwordFile }: ClusterPaths): Promise<URL> {
  // Lines: process id, folder, start time, port, socket folder, address, shared memory, state.
  const lines = ((await readIfPresent(join(clusterDir, "postmaster.pid"))) ?? "").split("\n");
  if (lines[7]?.trim() !== "ready") throw new Error("It is not ready");
  const url = new URL(`postgres://${superuser}@127.0.0.1:${lines[3]}/postgres`);
  url.password = await readOrCreateKey(passwordFile);
  const client = new pg.Client({ connectionString: url.href, connectionTimeoutMillis: 5_000 });
  // A lost connection also rejects the statement; an unhandled "error" event would end the process.
  client.on("error", () => undefined);
  try {
    await client.connect();
    const { rowCount } = await client.query("select from pg_database where datname = $1", [databaseName]);
    if (rowCount === 0) await client.query(`create database ${databaseName}`);
  } catch (error) {
    if (!(error instanceof pg.DatabaseError) || error.code !== wrongPassword) throw error;
    throw new StartupError(
      `PostgreSQL, which uses ${clusterDir}, rejects Waymark's connection: ${error.message}.`,
      `Restore ${passwordFile} from a backup, or set WAYMARK_DATA_DIR to a new folder.`,
      error,
    );
  } finally {
    await client.end();
  }
  return Object.assign(url, { pathname: `/${databaseName}` });
}
