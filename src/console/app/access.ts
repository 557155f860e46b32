/** Who may see what: the same rules that the server holds, so that nobody is led to a closed door. */
import type { Session } from "./session.ts";

/** `partner`: people of an organisation; `operator`: who runs the service; `integrations`: who manages keys and webhooks. */
export type Access = "anyone" | "partner" | "operator" | "integrations";

const rules: Readonly<Record<Access, (session: Session) => boolean>> = {
  anyone: () => true,
  partner: ({ user }) => user.role !== "operator",
  operator: ({ user }) => user.role === "operator",
  integrations: ({ scopes }) => scopes.includes("webhooks:manage"),
};

/** Every page is closed to them but the one where they turn it on. */
export function lacksSecondStep({ user }: Session): boolean {
  return user.must_have_second_factor && !user.has_second_factor;
}

export function mayVisit(session: Session, access: Access): boolean {
  return rules[access](session);
}
