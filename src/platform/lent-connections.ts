/** Connections of our pool for a library that brings SQL of its own, in the shape of `pg`'s pool. */
import pg, { type Pool, type PoolClient } from "pg";
import { translateDatabaseError } from "./database-errors.ts";

interface LentResult {
  command: string;
  rowCount: number | null;
  rows: object[];
}

interface LentConnection {
  /** Rows as `pg` gives them to everybody: times as Dates. */
  query(text: string, values: readonly unknown[]): Promise<LentResult>;
  release(): void;
}

export interface ConnectionLender {
  connect(): Promise<LentConnection>;
}

interface LenderParts {
  /** Throws where too many wait for a connection already. */
  refuseOverload: () => void;
  askedAgain: (client: PoolClient) => void;
}

export function lendConnections(pool: Pool, { refuseOverload, askedAgain }: LenderParts): ConnectionLender {
  return {
    async connect() {
      refuseOverload();
      const client = await pool.connect().catch(translateDatabaseError);
      return {
        async query(text, values) {
          askedAgain(client);
          return await client
            .query<object>({ text, values: [...values], types: pg.types })
            .catch(translateDatabaseError);
        },
        release: () => client.release(),
      };
    },
  };
}
