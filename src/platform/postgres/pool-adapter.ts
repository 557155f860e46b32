/** An adapter from our pool to the `pg.Pool` interface, for libraries that run their own SQL. */
import pg, { type Pool, type PoolClient } from "pg";
import { translateDatabaseError } from "./errors.ts";

interface PoolAdapterResult {
  command: string;
  rowCount: number | null;
  rows: object[];
}

interface PoolAdapterConnection {
  /** Returns rows with `pg`'s default types: times as Dates. */
  query(text: string, values: readonly unknown[]): Promise<PoolAdapterResult>;
  release(): void;
}

export interface PgPoolAdapter {
  connect(): Promise<PoolAdapterConnection>;
}

interface PgPoolAdapterDeps {
  /** Throws ServiceUnavailableException if too many requests wait for a connection. */
  rejectIfOverloaded: () => void;
  touch: (client: PoolClient) => void;
}

export function createPgPoolAdapter(
  pool: Pool,
  { rejectIfOverloaded, touch }: PgPoolAdapterDeps,
): PgPoolAdapter {
  return {
    async connect() {
      rejectIfOverloaded();
      const client = await pool.connect().catch(translateDatabaseError);
      return {
        async query(text, values) {
          touch(client);
          return await client
            .query<object>({ text, values: [...values], types: pg.types })
            .catch(translateDatabaseError);
        },
        release: () => client.release(),
      };
    },
  };
}
