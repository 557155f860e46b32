/** Probes the primary or a replica on a separate connection, so that a busy pool does not delay the probe. */
import pg from "pg";
import { withTimeout } from "../concurrency/timeout.ts";
import { parseLsn } from "./wal-history.ts";

export interface ProbeResult {
  isStandby: boolean;
  /** WAL position: flushed on a primary, replayed on a standby. */
  position: bigint;
  /** PostgreSQL's system identifier, which a server shares with all its copies. */
  systemIdentifier: string;
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
export class ServerProbe implements Disposable {
  readonly #url: string;
  #client: pg.Client | null = null;

  constructor(url: string) {
    this.#url = url;
  }

  /** Rejects if the server does not answer within a second. Do not call it while another probe runs. */
  async probe(): Promise<ProbeResult> {
    const isNew = this.#client === null;
    try {
      return await this.#probeOnce();
    } catch (error) {
      // An old connection can be lost for many reasons. Only a failure on a new one counts.
      if (isNew || error instanceof ProbeTimeoutError) throw error;
      return await this.#probeOnce();
    }
  }

  async #probeOnce(): Promise<ProbeResult> {
    try {
      const client = (this.#client ??= await connect(this.#url));
      const { rows } = await withTimeout(client.query<ProbeRow>(PROBE_SQL), PROBE_TIMEOUT_MS, throwTimeout);
      const [row] = rows;
      if (!row || row.position === null) throw new Error("The server returned no WAL position");
      return { isStandby: row.is_standby, position: parseLsn(row.position), systemIdentifier: row.system };
    } catch (error) {
      this[Symbol.dispose]();
      throw error;
    }
  }

  [Symbol.dispose](): void {
    this.#client?.connection.stream.destroy();
    this.#client = null;
  }
}

class ProbeTimeoutError extends Error {}

function throwTimeout(): never {
  throw new ProbeTimeoutError("The server did not answer in time");
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
