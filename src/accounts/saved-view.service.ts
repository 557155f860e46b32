/** Saved views of the console's jobs table: a user's own, and those shared with the user's organisation. */
import { defineEntity, type EntityManager, type InferEntity, LockMode, p, raw } from "@mikro-orm/postgresql";
import { z } from "zod";
import { User, type UserRole } from "../organizations/api.ts";
import type { Database, Reader } from "../core/postgres/database.ts";
import { AppError, invariant } from "../core/errors.ts";
import { fromTypedId, newUuid } from "../core/ids.ts";
import { partnerOf, type Principal } from "../core/principal.ts";

/** Deleted with the user. */
export const SavedView = defineEntity({
  name: "SavedView",
  tableName: "saved_view",
  properties: {
    id: p.uuid().primary(),
    user: () => p.manyToOne(User).deleteRule("cascade"),
    name: p.text(),
    /** The query string of the page's URL: filters, order and columns. */
    query: p.text(),
    /** All of the user's organisation see it, or all operators. */
    isShared: p.boolean().default(false),
    createdAt: p.datetime(3).defaultRaw("now()"),
    updatedAt: p.datetime(3).defaultRaw("now()"),
  },
  uniques: [{ name: "saved_view_user_name", properties: ["user", "name"] }],
});

export type SavedView = InferEntity<typeof SavedView>;

/** Of a user, and shared views of an organisation. */
const MAX_VIEWS = 50;
const MAX_QUERY_LENGTH = 2_000;

export const savedViewQuery = z
  .string()
  .max(MAX_QUERY_LENGTH, { error: `must be at most ${MAX_QUERY_LENGTH} characters` })
  .regex(/^[!-~]*$/, { error: "must be the query string of a URL, percent-encoded" });

/** A signed-in user. */
type ViewUser = Principal & { readonly user?: { readonly role: UserRole } };

/** A view that the user doesn't see throws NotFoundException, as if it didn't exist. */
export class SavedViewService {
  readonly #database: Database;

  constructor({ database }: { database: Database }) {
    this.#database = database;
  }

  /** Ordered by name. */
  list(user: ViewUser, on: Reader = this.#database): Promise<SavedView[]> {
    const byName = { [raw((alias) => `lower(${alias}.name)`)]: "asc" as const };
    return on.em().find(SavedView, visibleTo(user), { orderBy: [byName, { name: "asc" }] });
  }

  /** Saves a view, or replaces the one with the same name. Throws ConflictException above 50 views. */
  async save(principal: ViewUser, { name, query }: { name: string; query: string }): Promise<SavedView> {
    return await this.#database.transactional(async (em) => {
      // Locks the user, so that two concurrent saves can't exceed the limit together.
      const id = idOf(principal);
      const user = await em.findOne(User, { id }, { lockMode: LockMode.PESSIMISTIC_WRITE });
      if (!user) throw new AppError("UnauthorizedException", "You are no longer a member");
      const views = await em.find(SavedView, { user });
      const existing = views.find((other) => other.name === name);
      if (existing) return em.assign(existing, { query, updatedAt: new Date() });
      if (views.length >= MAX_VIEWS)
        throw tooMany(`You already have ${MAX_VIEWS} saved views; delete one first`);
      const created = em.create(SavedView, { id: newUuid(), user, name, query });
      em.persist(created);
      return created;
    });
  }

  /**
   * Shares a view of the user, or ends sharing. Owners of the organisation can end that of other users too. `id`: typed. Throws
   * NotFoundException, ForbiddenException, and ConflictException above 50 shared views.
   */
  async share(user: ViewUser, id: string, isShared: boolean): Promise<SavedView> {
    return await this.#database.transactional(async (em) => {
      const view = await findChangeable(em, user, id);
      if (isShared && !view.isShared) {
        const shared = await em.count(SavedView, sharedWith(user));
        if (shared >= MAX_VIEWS)
          throw tooMany(`There are already ${MAX_VIEWS} shared views; delete one first`);
      }
      return em.assign(view, { isShared });
    });
  }

  /** Deletes a view of the user. Owners of the organisation can delete the shared ones of others. `id`: typed. Throws like `share`. */
  async delete(user: ViewUser, id: string): Promise<void> {
    await this.#database.transactional(async (em) => {
      em.remove(await findChangeable(em, user, id));
    });
  }
}

/** Uuid. */
function idOf({ actor }: ViewUser): string {
  invariant(actor.id, "the operations name roles of users");
  return actor.id;
}

/** In test mode too, users belong to the live organisation. */
const sharedWith = (user: ViewUser) => ({ isShared: true, user: { organization: partnerOf(user) } });

const visibleTo = (user: ViewUser) => ({ $or: [{ user: idOf(user) }, sharedWith(user)] });

async function findChangeable(em: EntityManager, user: ViewUser, id: string): Promise<SavedView> {
  const view = await em.findOne(SavedView, { id: fromTypedId("viw", id), ...visibleTo(user) });
  if (!view) throw new AppError("NotFoundException", "There is no such view");
  if (view.user.id !== idOf(user) && user.user?.role !== "owner")
    throw new AppError("ForbiddenException", "Only the user who saved the view, and owners, can change it");
  return view;
}

function tooMany(message: string): AppError {
  return new AppError("ConflictException", message, { details: { limit: MAX_VIEWS } });
}
