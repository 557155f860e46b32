/** Who may see what: the same rules that the server holds, so that nobody is led to a closed door. */
import type { Session } from "./session.ts";

/** `partner`: people of an organisation; `operator`: who runs the service; `integrations`: who manages keys and webhooks. */
export type Access = "anyone" | "partner" | "operator" | "integrations";

const accessRules: Readonly<Record<Access, (session: Session) => boolean>> = {
  anyone: () => true,
  partner: ({ user }) => user.role !== "operator",
  operator: ({ user }) => user.role === "operator",
  integrations: ({ scopes }) => scopes.includes("webhooks:manage"),
};

/** Every page is closed to them but the one where they turn it on. */
export function needsTwoFactor({ user }: Session): boolean {
  return user.requires_two_factor && !user.has_two_factor;
}

export function canVisit(session: Session, access: Access): boolean {
  return accessRules[access](session);
}
