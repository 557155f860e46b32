/** Loaders of users and account requests. */
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

/** Loaders by UUID. They return null for rows that do not exist or that the principal may not see. */
export interface AccountLoaders {
  readonly users: DataLoader<string, UserNode | null>;
  /** Always null for principals that are not operators. */
  readonly accountRequests: DataLoader<string, AccountRequestNode | null>;
  /** Does not check access: load the account request first. */
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
