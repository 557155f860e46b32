/** People and requests for an account by their ids. */
import type DataLoader from "dataloader";
import type { MemberService } from "../accounts/member.service.ts";
import { notesOf, requestsById, warningsOf, type NoteView } from "../accounts/request.queries.ts";
import type { Queryable } from "../platform/database.ts";
import type { Holder } from "./holder.ts";
import { loader, ofIds } from "./loader.ts";
import { toAccountRequestNode, type AccountRequestNode } from "./nodes/account-request.node.ts";
import { toUserNode, type UserNode } from "./nodes/user.node.ts";

/** By uuids; null: there is none that the caller may see. */
export interface PeopleLoaders {
  readonly users: DataLoader<string, UserNode | null>;
  /** Null for all but operators. */
  readonly accountRequests: DataLoader<string, AccountRequestNode | null>;
  /** Of any request: whoever has one may see it. */
  readonly requestNotes: DataLoader<string, readonly NoteView[]>;
  readonly requestWarnings: DataLoader<string, readonly string[]>;
}

interface Parts {
  readonly viewer: () => Holder;
  readonly database: Queryable;
  readonly members: Pick<MemberService, "byIds">;
}

export function createPeopleLoaders({ viewer, database, members }: Parts): PeopleLoaders {
  return {
    users: loader(async (ids) => {
      const views = await members.byIds(viewer(), ids, database);
      return ofIds("usr", ids, views.map(toUserNode));
    }),
    accountRequests: loader(async (ids) => {
      const views = viewer().organizationId === null ? await requestsById(database, ids) : [];
      return ofIds("arq", ids, views.map(toAccountRequestNode));
    }),
    requestNotes: loader(async (ids) => {
      const notes = await notesOf(database, ids);
      return ids.map((id) => notes.get(id) ?? []);
    }),
    requestWarnings: loader(async (ids) => {
      const warnings = await warningsOf(database, ids);
      return ids.map((id) => warnings.get(id) ?? []);
    }),
  };
}
