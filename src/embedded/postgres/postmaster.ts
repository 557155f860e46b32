/** Starts and stops the PostgreSQL server of a cluster, as a process of its own that outlives the one that started it. */
import { StartupError } from "../../platform/errors.ts";
import { findFreePort, MIN_PORT, PORT_LIMIT } from "../free-port.ts";
import { startDetached, stopDetached } from "../detached-server.ts";
import { accountHint, spawnAs } from "./account.ts";
import type { Cluster } from "./cluster.ts";
import { isPostmasterOf, readPostmasterPid } from "./postmaster-pid.ts";
import { isAlive } from "../processes.ts";
import type { StartupWait } from "../startup-wait.ts";

/** Given at each start, not written into the cluster: a newer Waymark brings its own settings to an old data folder. */
const settings: Readonly<Record<string, string>> = {
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "",
  max_connections: "100",
  shared_buffers: "128MB",
  fsync: "on",
  min_wal_size: "32MB",
  max_wal_size: "512MB",
  // Neither replicas nor archives follow an embedded server.
  wal_level: "minimal",
  max_wal_senders: "0",
  timezone: "UTC",
  log_timezone: "UTC",
  // The log says that a statement failed and why, never the statement, its parameters or the row: personal data.
  log_line_prefix: "%m [%p] %e ",
  log_error_verbosity: "terse",
  log_min_error_statement: "panic",
  log_parameter_max_length: "0",
  log_parameter_max_length_on_error: "0",
  log_checkpoints: "off",
};

/** What another process did between our looking and our starting; the next look finds it. */
const transientFailures: readonly { said: string; reason: string }[] = [
  { said: "Address already in use", reason: "The port that PostgreSQL was to use is taken." },
  { said: 'lock file "postmaster.pid" already exists', reason: "Another process starts PostgreSQL." },
  { said: 'lock file "postmaster.pid" is empty', reason: "Another process starts PostgreSQL." },
  { said: "could not remove old lock file", reason: "Another process starts PostgreSQL." },
  { said: "It ended with SIGKILL", reason: "PostgreSQL was killed while it started." },
  { said: "It ended with 0", reason: "PostgreSQL was stopped while it started." },
  {
    said: "pre-existing shared memory block",
    reason: "A killed PostgreSQL's processes are still ending their work.",
  },
];
const retryDelayMs = 20;
const maxShownLogLines = 12;

export interface PostmasterOptions {
  /** 0: any that is free. */
  readonly port: number;
  readonly flags: readonly string[];
}

/** Resolves once the server is ready, and also where the start is to be tried again: the caller looks and decides. */
export async function startPostmaster(
  cluster: Cluster,
  options: PostmasterOptions,
  wait: StartupWait,
): Promise<void> {
  const { clusterDir, logFile, runAs, binaries } = cluster;
  const port = options.port === 0 ? await findPort() : options.port;
  const settingArgs = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const args = ["-D", clusterDir, "-p", String(port), ...settingArgs, ...options.flags];
  const failure = await startDetached(
    {
      logFile,
      startingMessage: "PostgreSQL is starting; after a crash it recovers what was committed.",
      spawn: (how) => spawnAs(runAs, binaries.postgres, args, how),
      async isReady(pid) {
        const postmaster = await readPostmasterPid(clusterDir);
        return postmaster?.pid === pid && postmaster.ready;
      },
      excerptLog: (log) => log.split("\n").slice(-maxShownLogLines).join("\n"),
    },
    wait,
  );
  if (failure !== null) await retryOrFail(cluster, failure, wait);
}

/** Stops the server that `postmaster.pid` names: at once but cleanly, and if that takes too long, without its checkpoint. */
export async function stopPostmaster(clusterDir: string): Promise<void> {
  const postmaster = await readPostmasterPid(clusterDir);
  if (postmaster === null || postmaster.pid === 0) return;
  const { pid } = postmaster;
  await stopDetached(
    pid,
    [
      ["SIGINT", 30_000],
      ["SIGQUIT", 10_000],
    ],
    async () => {
      const named = (await readPostmasterPid(clusterDir))?.pid === pid;
      // A process that nobody collects (under an init that does not) stays as a number without a command line.
      return !isAlive(pid) || (!named && !(await isPostmasterOf(clusterDir, pid)));
    },
  );
}

async function retryOrFail(cluster: Cluster, output: string, wait: StartupWait): Promise<void> {
  const transientFailure = transientFailures.find(({ said }) => output.includes(said));
  if (transientFailure !== undefined) return wait.pauseOrFail(transientFailure.reason, retryDelayMs);
  throw new StartupError(
    `PostgreSQL did not start on ${cluster.clusterDir}. ${output}`,
    accountHint(cluster.runAs) ??
      `Mend what the log names (${cluster.logFile}), or set WAYMARK_DATA_DIR to a new folder.`,
  );
}

async function findPort(): Promise<number> {
  const port = await findFreePort();
  if (port !== null) return port;
  throw new StartupError(
    `PostgreSQL found no free port between ${MIN_PORT} and ${PORT_LIMIT - 1}.`,
    "End a program that listens there, or set DATABASE_URL to a PostgreSQL of your own.",
  );
}
