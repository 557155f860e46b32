/** How to find, start and stop the PostgreSQL server of a cluster. */
import { StartupError } from "../../core/errors.ts";
import { findFreePort, MIN_PORT, PORT_LIMIT } from "../free-port.ts";
import type { ServerProgram } from "../owned-server.ts";
import { NotYet } from "../retry.ts";
import { accountHint } from "../account.ts";
import type { Cluster } from "./cluster.ts";
import { connectToPostmaster, findPostmaster, readLastPort } from "./connect.ts";

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

const maxShownLogLines = 12;

/** `url` returns the URL of the first connection. A killed server is restarted on its port, because its users know that URL. */
export function createPostgresProgram(
  cluster: Cluster,
  flags: readonly string[],
): ServerProgram & { url: () => string } {
  const { clusterDir, logFile, runAs, binaries } = cluster;
  let url: URL | null = null;
  let port = 0;
  let isLastPortTaken = false;
  return {
    logFile,
    // A fast shutdown, and after 30 seconds an immediate one without a checkpoint.
    stopSignals: [
      ["SIGINT", 30_000],
      ["SIGQUIT", 10_000],
    ],
    url: () => url?.href ?? "",
    find: () => findPostmaster(clusterDir),
    async command() {
      const lastPort = isLastPortTaken ? 0 : await readLastPort(clusterDir);
      port = Number(url?.port ?? lastPort) || ((await findFreePort()) ?? 0);
      if (port === 0)
        throw new StartupError(
          `PostgreSQL found no free port between ${MIN_PORT} and ${PORT_LIMIT - 1}.`,
          "Stop a program that listens there, or set DATABASE_URL to your own PostgreSQL server.",
        );
      const settingArgs = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
      const args = ["-D", clusterDir, "-p", String(port), ...settingArgs, ...flags];
      return { runAs, program: binaries.postgres, args };
    },
    async connect() {
      const connected = await connectToPostmaster(cluster, true);
      url ??= connected;
    },
    explainExit(reason, log) {
      if (log.includes("Address already in use")) {
        isLastPortTaken = true;
        return new NotYet(`Port ${port}, which PostgreSQL should use, is in use.`);
      }
      // The backends of a killed server run on for a moment, and a server left by a killed process may be starting.
      if (/lock file "postmaster.pid"|pre-existing shared memory block/.test(log))
        return new NotYet("Another PostgreSQL is still using the data folder.");
      if (/with (SIGKILL|0)$/.test(reason)) return new NotYet("PostgreSQL was stopped while it started.");
      return new StartupError(
        `PostgreSQL did not start on ${clusterDir}. ${reason}.\n${log.split("\n").slice(-maxShownLogLines).join("\n")}`,
        accountHint(runAs) ?? `Fix the errors in ${logFile}, or set WAYMARK_DATA_DIR to a new folder.`,
      );
    },
  };
}
