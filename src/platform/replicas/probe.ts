/** Asking a server, the primary or a replica, how it is, on a connection of its own: however busy the others are, the answer is quick or it is unwell. */
import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import { parseLsn } from "./wal-history.ts";

export interface ProbeResult {
  isStandby: boolean;
  /** Up to where in the log it has what it may give away: what is on the primary's disk, what a standby has replayed. */
  position: bigint;
  /** What PostgreSQL calls the server and all its copies. */
  systemIdentifier: string;
}

export interface ServerProbe extends AsyncDisposable {
  /** Rejects where it does not answer in time. One look at a time. */
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
      if (!row || row.position === null) throw new Error("It tells no place in the log");
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
        // A connection may be lost for many reasons; only one that is made now tells of the replica.
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

/** A process that was busy itself for so long reads what has come meanwhile before it judges. */
async function withTimeout<T>(answer: Promise<T>): Promise<T> {
  const answered = new AbortController();
  const { signal } = answered;
  const late = async (): Promise<never> => {
    await pause(PROBE_TIMEOUT_MS, undefined, { signal });
    await nextTurn(undefined, { signal });
    throw new ProbeTimeoutError("No answer in time");
  };
  try {
    return await Promise.race([answer, late()]);
  } finally {
    answered.abort();
  }
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: url,
    application_name: "waymark probe",
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  // The next look finds out.
  client.on("error", () => undefined);
  try {
    await client.connect();
    return client;
  } catch (error) {
    client.connection.stream.destroy();
    throw error;
  }
}
