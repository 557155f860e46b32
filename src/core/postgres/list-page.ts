/** Pages of lists ordered by id, newest first, for all entities whose id is a UUID version 7. */
import type { EntityManager, EntityName, FindOptions } from "@mikro-orm/postgresql";

export interface PageRequest {
  readonly limit: number;
  /** Start after the row with this uuid; null: at the newest. */
  readonly after: string | null;
}

export interface Page<Item> {
  readonly items: Item[];
  readonly hasMore: boolean;
}

/** Returns the rows that match `where`, with the largest id first. */
export async function listNewest<Entity extends { id: string }>(
  em: EntityManager,
  entity: EntityName<Entity>,
  { where, limit, after, ...options }: PageRequest & { where: object } & Pick<FindOptions<Entity>, "filters">,
): Promise<Page<Entity>> {
  const conditions = after === null ? [where] : [where, { id: { $lt: after } }];
  const findOptions = { ...options, orderBy: { id: "desc" }, limit: limit + 1 };
  const rows = await em.find<Entity>(entity, { $and: conditions } as never, findOptions);
  return { items: rows.slice(0, limit), hasMore: rows.length > limit };
}
