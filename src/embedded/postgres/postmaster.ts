/** Starts and stops the PostgreSQL server of a cluster as a detached process. */
import { StartupError } from "../../platform/errors.ts";
import { findFreePort, MIN_PORT, PORT_LIMIT } from "../free-port.ts";
import { startDetached, stopDetached, type StopSignals } from "../detached-server.ts";
import { accountHint, spawnAs } from "./account.ts";
import type { Cluster } from "./cluster.ts";
import { findPostmaster, readPostmasterPid } from "./postmaster-pid.ts";
import { isRunning } from "../processes.ts";
import type { StartupWait } from "../startup-wait.ts";

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

/** Failed starts caused by another process at the same time; a retry succeeds. `logText` is a part of the log. */
const transientFailures: readonly { logText: string; reason: string }[] = [
  { logText: "Address already in use", reason: "The port chosen for PostgreSQL is in use." },
  { logText: 'lock file "postmaster.pid" already exists', reason: "Another process is starting PostgreSQL." },
  { logText: 'lock file "postmaster.pid" is empty', reason: "Another process is starting PostgreSQL." },
  { logText: "It exited with SIGKILL", reason: "PostgreSQL was killed while it started." },
  { logText: "It exited with 0", reason: "PostgreSQL was stopped while it started." },
  {
    logText: "pre-existing shared memory block",
    reason: "Child processes of a killed PostgreSQL are still running.",
  },
];
/** A fast shutdown, and after 30 seconds an immediate one without a checkpoint. */
const stopSignals: StopSignals = [
  ["SIGINT", 30_000],
  ["SIGQUIT", 10_000],
];

const retryDelayMs = 20;
const maxShownLogLines = 12;

export interface PostmasterOptions {
  /** 0 picks a free port. */
  readonly port: number;
  readonly flags: readonly string[];
}

/** Resolves once the server is ready, or after a transient failure: the caller must check. Throws StartupError. */
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
      startingMessage: "PostgreSQL is starting, which takes longer after a crash.",
      stopSignals,
      spawn: (spawnOptions) => spawnAs(runAs, binaries.postgres, args, spawnOptions),
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

/** Stops the server if it runs. */
export async function stopPostmaster(clusterDir: string): Promise<void> {
  const pid = await findPostmaster(clusterDir);
  if (pid === null) return;
  await stopDetached(pid, stopSignals, async () => !(await isRunning(pid)));
}

async function retryOrFail(cluster: Cluster, output: string, wait: StartupWait): Promise<void> {
  const transientFailure = transientFailures.find(({ logText }) => output.includes(logText));
  if (transientFailure !== undefined) return wait.pauseOrFail(transientFailure.reason, retryDelayMs);
  throw new StartupError(
    `PostgreSQL did not start on ${cluster.clusterDir}. ${output}`,
    accountHint(cluster.runAs) ??
      `Fix the errors in ${cluster.logFile}, or set WAYMARK_DATA_DIR to a new folder.`,
  );
}

async function findPort(): Promise<number> {
  const port = await findFreePort();
  if (port !== null) return port;
  throw new StartupError(
    `PostgreSQL found no free port between ${MIN_PORT} and ${PORT_LIMIT - 1}.`,
    "Stop a program that listens there, or set DATABASE_URL to your own PostgreSQL server.",
  );
}
