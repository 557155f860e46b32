/** Which pages a user may open. The server enforces the same rules; these only hide links. */
import type { Session } from "./session.ts";

/**
 * `partner`: users of an organisation; `operator`: operators of the service; `integrations`: users who manage keys
 * and webhooks.
 */
export type Access = "anyone" | "partner" | "operator" | "integrations";

const accessRules: Readonly<Record<Access, (session: Session) => boolean>> = {
  anyone: () => true,
  partner: ({ user }) => user.role !== "operator",
  operator: ({ user }) => user.role === "operator",
  integrations: ({ scopes }) => scopes.includes("webhooks:manage"),
};

/** True if the user must turn on two-factor authentication before they can open any other page. */
export function needsTwoFactor({ user }: Session): boolean {
  return user.requires_two_factor && !user.has_two_factor;
}

export function canVisit(session: Session, access: Access): boolean {
  return accessRules[access](session);
}
