/** A request for an account as resolvers hand it on. */
import type { NoteView, RequestView } from "../../accounts/request.queries.ts";
import { toTypedId } from "../../platform/ids.ts";

export type AccountRequestNode = Omit<RequestView, "status" | "organizationType"> & {
  readonly status: Uppercase<RequestView["status"]>;
  readonly organizationType: Uppercase<RequestView["organizationType"]>;
};

export type AccountRequestNoteNode = Omit<NoteView, "kind"> & { readonly kind: Uppercase<NoteView["kind"]> };

export function toAccountRequestNode(view: RequestView): AccountRequestNode {
  return {
    ...view,
    id: toTypedId("arq", view.id),
    status: view.status.toUpperCase() as AccountRequestNode["status"],
    organizationType: view.organizationType.toUpperCase() as AccountRequestNode["organizationType"],
  };
}

export function toNoteNode(view: NoteView): AccountRequestNoteNode {
  return { ...view, kind: view.kind.toUpperCase() as AccountRequestNoteNode["kind"] };
}
