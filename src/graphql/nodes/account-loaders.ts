/** People and requests for an account by their ids. */
import type DataLoader from "dataloader";
import {
  accountRequestNotes,
  type AccountRequestNoteView,
  accountRequestsByIds,
  accountRequestWarnings,
  type MemberService,
} from "../../accounts/api.ts";
import type { Queryable } from "../../platform/postgres/database.ts";
import type { AuthenticatedPrincipal } from "../principal.ts";
import { createLoader, alignToIds } from "./create-loader.ts";
import { toAccountRequestNode, type AccountRequestNode } from "./account-request.node.ts";
import { toUserNode, type UserNode } from "./user.node.ts";

/** By uuids; null: there is none that the caller may see. */
export interface AccountLoaders {
  readonly users: DataLoader<string, UserNode | null>;
  /** Null for all but operators. */
  readonly accountRequests: DataLoader<string, AccountRequestNode | null>;
  /** Of any request: whoever has one may see it. */
  readonly accountRequestNotes: DataLoader<string, readonly AccountRequestNoteView[]>;
  readonly accountRequestWarnings: DataLoader<string, readonly string[]>;
}

interface AccountLoaderDeps {
  readonly requirePrincipal: () => AuthenticatedPrincipal;
  readonly database: Queryable;
  readonly members: Pick<MemberService, "getMany">;
}

export function createAccountLoaders({
  requirePrincipal,
  database,
  members,
}: AccountLoaderDeps): AccountLoaders {
  return {
    users: createLoader(async (ids) => {
      const views = await members.getMany(requirePrincipal(), ids, database);
      return alignToIds("usr", ids, views.map(toUserNode));
    }),
    accountRequests: createLoader(async (ids) => {
      const views =
        requirePrincipal().organizationId === null ? await accountRequestsByIds(database, ids) : [];
      return alignToIds("arq", ids, views.map(toAccountRequestNode));
    }),
    accountRequestNotes: createLoader(async (ids) => {
      const notes = await accountRequestNotes(database, ids);
      return ids.map((id) => notes.get(id) ?? []);
    }),
    accountRequestWarnings: createLoader(async (ids) => {
      const warnings = await accountRequestWarnings(database, ids);
      return ids.map((id) => warnings.get(id) ?? []);
    }),
  };
}
