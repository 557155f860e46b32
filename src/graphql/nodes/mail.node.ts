/** Mails in the shape of the GraphQL schema. */
import type { MailView } from "../../mail/api.ts";

export type MailNode = Omit<MailView, "status"> & { readonly status: Uppercase<MailView["status"]> };

export function toMailNode(view: MailView): MailNode {
  return { ...view, status: view.status.toUpperCase() as MailNode["status"] };
}
