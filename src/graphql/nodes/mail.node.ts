/** Mails in the shape of the GraphQL schema. */
import { redactLinks, type MailView } from "../../mail/api.ts";
import { isSessionPrincipal, type AuthenticatedPrincipal } from "../principal.ts";

export type MailNode = Omit<MailView, "status"> & { readonly status: Uppercase<MailView["status"]> };

/** Links in mails can start a session as the recipient, so API keys get the text without them. */
export function toMailNode(view: MailView, principal: AuthenticatedPrincipal): MailNode {
  const text = isSessionPrincipal(principal) ? view.text : redactLinks(view.text);
  return { ...view, text, status: view.status.toUpperCase() as MailNode["status"] };
}
