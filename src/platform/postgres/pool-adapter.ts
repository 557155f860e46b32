/** Connections of our pool for a library that brings SQL of its own, in the shape of `pg`'s pool. */
import pg, { type Pool, type PoolClient } from "pg";
import { translateDatabaseError } from "./errors.ts";

interface PoolAdapterResult {
  command: string;
  rowCount: number | null;
  rows: object[];
}

interface PoolAdapterConnection {
  /** Rows as `pg` gives them to everybody: times as Dates. */
  query(text: string, values: readonly unknown[]): Promise<PoolAdapterResult>;
  release(): void;
}

export interface PgPoolAdapter {
  connect(): Promise<PoolAdapterConnection>;
}

interface PgPoolAdapterDeps {
  /** Throws where too many wait for a connection already. */
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
