/** Runs SQL templates in the transaction of an entity manager. */
import type { EntityManager } from "@mikro-orm/postgresql";
import type { Queryable } from "./database.ts";
import type { Sql } from "./sql.ts";

/** Flushes the entity manager before each statement. Values must be strings, numbers, booleans or null. */
export function asQueryable(em: EntityManager): Queryable {
  return {
    async query<Row>(statement: Pick<Sql, "compile">) {
      await em.flush();
      const { text, values } = statement.compile();
      const ordered: unknown[] = [];
      // MikroORM uses `?` placeholders, one value each, in order.
      const query = text.replaceAll(/\$(\d+)/g, (_whole, position: string) => {
        ordered.push(values[Number(position) - 1]);
        return "?";
      });
      return await em.execute<Row[]>(query, ordered);
    },
  };
}
