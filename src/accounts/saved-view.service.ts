/** Users' saved views of the console's jobs table. */
import { LockMode, raw } from "@mikro-orm/postgresql";
import { z } from "zod";
import { User } from "../organizations/api.ts";
import type { Database, Reader } from "../core/postgres/database.ts";
import { AppError } from "../core/errors.ts";
import { fromTypedId, newUuid } from "../core/ids.ts";
import { SavedView } from "./saved-view.entity.ts";

const MAX_VIEWS = 50;
const MAX_QUERY_LENGTH = 2_000;

export const savedViewQuery = z
  .string()
  .max(MAX_QUERY_LENGTH, { error: `must be at most ${MAX_QUERY_LENGTH} characters` })
  .regex(/^[!-~]*$/, { error: "must be the query string of a URL, percent-encoded" });

/** `userId`: a uuid. Another user's view throws NotFoundException, as if it didn't exist. */
export class SavedViewService {
  readonly #database: Database;

  constructor({ database }: { database: Database }) {
    this.#database = database;
  }

  /** Ordered by name. */
  list(userId: string, on: Reader = this.#database): Promise<SavedView[]> {
    const byName = { [raw((alias) => `lower(${alias}.name)`)]: "asc" as const };
    return on.em().find(SavedView, { user: userId }, { orderBy: [byName, { name: "asc" }] });
  }

  /**
   * Saves a view, or replaces the one with the same name. Throws ConflictException above 50 views.
   */
  async save(userId: string, { name, query }: { name: string; query: string }): Promise<SavedView> {
    return await this.#database.transactional(async (em) => {
      // Locks the user, so that two concurrent saves can't exceed the limit together.
      const user = await em.findOne(User, { id: userId }, { lockMode: LockMode.PESSIMISTIC_WRITE });
      if (!user) throw new AppError("UnauthorizedException", "You are no longer a member");
      const views = await em.find(SavedView, { user });
      const existing = views.find((other) => other.name === name);
      if (existing) return em.assign(existing, { query, updatedAt: new Date() });
      if (views.length >= MAX_VIEWS)
        throw new AppError(
          "ConflictException",
          `You already have ${MAX_VIEWS} saved views; delete one first`,
          { details: { limit: MAX_VIEWS } },
        );
      const created = em.create(SavedView, { id: newUuid(), user, name, query });
      em.persist(created);
      return created;
    });
  }

  /** `id`: typed. Throws NotFoundException. */
  async delete(userId: string, id: string): Promise<void> {
    const own = { id: fromTypedId("viw", id), user: userId };
    if ((await this.#database.em().nativeDelete(SavedView, own)) === 0)
      throw new AppError("NotFoundException", "There is no such view");
  }
}
