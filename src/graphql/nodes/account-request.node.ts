/** Account requests in the shape of the GraphQL schema. */
import type { AccountRequestNoteView, AccountRequestView } from "../../accounts/api.ts";
import { toTypedId } from "../../platform/ids.ts";

export type AccountRequestNode = Omit<AccountRequestView, "status" | "organizationType"> & {
  readonly status: Uppercase<AccountRequestView["status"]>;
  readonly organizationType: Uppercase<AccountRequestView["organizationType"]>;
};

export type AccountRequestNoteNode = Omit<AccountRequestNoteView, "kind"> & {
  readonly kind: Uppercase<AccountRequestNoteView["kind"]>;
};

export function toAccountRequestNode(view: AccountRequestView): AccountRequestNode {
  return {
    ...view,
    id: toTypedId("arq", view.id),
    status: view.status.toUpperCase() as AccountRequestNode["status"],
    organizationType: view.organizationType.toUpperCase() as AccountRequestNode["organizationType"],
  };
}

export function toAccountRequestNoteNode(view: AccountRequestNoteView): AccountRequestNoteNode {
  return { ...view, kind: view.kind.toUpperCase() as AccountRequestNoteNode["kind"] };
}
