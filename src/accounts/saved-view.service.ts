/** Users' saved views of the console's jobs table. */
import { z } from "zod";
import type { Database, Queryable, Transaction } from "../platform/postgres/database.ts";
import { AppError } from "../platform/errors.ts";
import { fromTypedId, newUuid, toTypedId } from "../platform/ids.ts";
import { sql } from "../platform/postgres/sql.ts";
import { parseOrThrow, savedViewNameField } from "./account.fields.ts";

export interface SavedViewDto {
  /** Typed. */
  readonly id: string;
  readonly name: string;
  readonly query: string;
}

/** `userId`: a uuid. Another user's view throws NotFoundException, as if it didn't exist. */
export interface SavedViewService {
  /** Ordered by name. */
  list(userId: string, on?: Queryable): Promise<SavedViewDto[]>;
  /**
   * Saves a view, or replaces the one with the same name. Throws BadRequestException for an invalid name or query, and
   * ConflictException above 50 views.
   */
  save(userId: string, view: { name: string; query: string }): Promise<SavedViewDto>;
  /** Throws NotFoundException. */
  delete(userId: string, id: string): Promise<void>;
}

const MAX_VIEWS = 50;
const MAX_QUERY_LENGTH = 2_000;

const savedViewBody = z.object({
  name: savedViewNameField,
  query: z
    .string()
    .max(MAX_QUERY_LENGTH, { error: `must be at most ${MAX_QUERY_LENGTH} characters` })
    .regex(/^[!-~]*$/, { error: "must be the query string of a URL, percent-encoded" }),
});

export function createSavedViewService({ database }: { database: Database }): SavedViewService {
  return {
    async list(userId, on = database) {
      const rows = await on.query<SavedViewDto>(sql`
        select id, name, query from saved_view where user_id = ${userId}::uuid order by lower(name), name`);
      return rows.map(toView);
    },

    async save(userId, view) {
      const { name, query } = parseOrThrow(savedViewBody, view);
      return await database.transaction(async (tx) => {
        await assertViewQuota(tx, userId, name);
        const [saved] = await tx.query<SavedViewDto>(sql`
          insert into saved_view (id, user_id, name, query) values (${newUuid()}, ${userId}::uuid, ${name}, ${query})
          on conflict (user_id, name) do update set query = excluded.query, updated_at = now()
          returning id, name, query`);
        return toView(saved as SavedViewDto);
      });
    },

    async delete(userId, id) {
      const deleted = await database.query(sql`
        delete from saved_view where id = ${fromTypedId("viw", id)}::uuid and user_id = ${userId}::uuid returning 1`);
      if (deleted.length === 0) throw new AppError("NotFoundException", "There is no such view");
    },
  };
}

/** Locks the user, so that two concurrent saves can't exceed the limit together. */
async function assertViewQuota(tx: Transaction, userId: string, name: string): Promise<void> {
  const users = await tx.query(sql`select from user_account where id = ${userId}::uuid for no key update`);
  if (users.length === 0) throw new AppError("UnauthorizedException", "You are no longer a member");
  const [others] = await tx.query<{ count: number }>(sql`
    select count(*)::int as count from saved_view where user_id = ${userId}::uuid and name <> ${name}`);
  if ((others?.count ?? 0) < MAX_VIEWS) return;
  throw new AppError("ConflictException", `You already have ${MAX_VIEWS} saved views; delete one first`, {
    details: { limit: MAX_VIEWS },
  });
}

function toView({ id, ...view }: SavedViewDto): SavedViewDto {
  return { ...view, id: toTypedId("viw", id) };
}
