/** SQL templates in the transaction of an entity manager, for statements that others run outside one as well. */
import type { EntityManager } from "@mikro-orm/postgresql";
import type { Queryable } from "./database.ts";
import type { Sql } from "./sql.ts";

/** Statements with values that are text, numbers, booleans or null. What was persisted before is flushed first. */
export function asQueryable(em: EntityManager): Queryable {
  return {
    async query<Row>(statement: Pick<Sql, "compile">) {
      await em.flush();
      const { text, values } = statement.compile();
      const ordered: unknown[] = [];
      // MikroORM takes `?`, one value each, in their order.
      const query = text.replaceAll(/\$(\d+)/g, (_whole, position: string) => {
        ordered.push(values[Number(position) - 1]);
        return "?";
      });
      return await em.execute<Row[]>(query, ordered);
    },
  };
}
