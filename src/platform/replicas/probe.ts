/** Probes the primary or a replica on a separate connection, so that a busy pool does not delay the probe. */
import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import { parseLsn } from "./wal-history.ts";

export interface ProbeResult {
  isStandby: boolean;
  /** WAL position: flushed on a primary, replayed on a standby. */
  position: bigint;
  /** PostgreSQL's system identifier, which a server shares with all its copies. */
  systemIdentifier: string;
}

export interface ServerProbe extends AsyncDisposable {
  /** Rejects if the server does not answer within a second. Do not call it while another probe runs. */
  probe(): Promise<ProbeResult>;
}

const CONNECT_TIMEOUT_MS = 3_000;
const PROBE_TIMEOUT_MS = 1_000;

const PROBE_SQL = `select is_standby, system_identifier::text as system,
  case when is_standby then pg_last_wal_replay_lsn() else pg_current_wal_flush_lsn() end::text as position
  from pg_is_in_recovery() is_standby, pg_control_system()`;

interface ProbeRow {
  is_standby: boolean;
  position: string | null;
  system: string;
}

/** Connects with the first probe, and again after a failed one. */
export function openServerProbe(url: string): ServerProbe {
  let client: pg.Client | null = null;

  const disconnect = (): void => {
    client?.connection.stream.destroy();
    client = null;
  };

  const runProbe = async (): Promise<ProbeResult> => {
    try {
      client ??= await connect(url);
      const { rows } = await withTimeout(client.query<ProbeRow>(PROBE_SQL));
      const [row] = rows;
      if (!row || row.position === null) throw new Error("The server returned no WAL position");
      return { isStandby: row.is_standby, position: parseLsn(row.position), systemIdentifier: row.system };
    } catch (error) {
      disconnect();
      throw error;
    }
  };

  return {
    async probe() {
      const isNew = client === null;
      try {
        return await runProbe();
      } catch (error) {
        // An old connection can be lost for many reasons. Only a failure on a new one counts.
        if (isNew || error instanceof ProbeTimeoutError) throw error;
        return await runProbe();
      }
    },
    [Symbol.asyncDispose]() {
      disconnect();
      return Promise.resolve();
    },
  };
}

class ProbeTimeoutError extends Error {}

/** After the timeout it lets the event loop turn once, in case this process was too busy to read the result. */
async function withTimeout<T>(result: Promise<T>): Promise<T> {
  const settled = new AbortController();
  const { signal } = settled;
  const timeout = async (): Promise<never> => {
    await pause(PROBE_TIMEOUT_MS, undefined, { signal });
    await nextTurn(undefined, { signal });
    throw new ProbeTimeoutError("The server did not answer in time");
  };
  try {
    return await Promise.race([result, timeout()]);
  } finally {
    settled.abort();
  }
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: url,
    application_name: "waymark probe",
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  // The next probe detects the error.
  client.on("error", () => undefined);
  try {
    await client.connect();
    return client;
  } catch (error) {
    client.connection.stream.destroy();
    throw error;
  }
}
