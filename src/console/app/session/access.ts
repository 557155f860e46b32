/** Which pages a user may open. The server enforces the same rules; these only hide links. */
import type { Session } from "./session.ts";

/**
 * `operator`: operators of the service; `members`: owners and operators, who manage users; `integrations`: users who manage
 * keys and webhooks; `views`: users who save views; `simulator`: users who may change test jobs;
 * `import`: operators, and users of an agent that may import jobs; `usage`: requests are counted per organisation, and operators
 * have none; `endpoints`: users who create endpoints, which also belong to an organisation;
 * `organization`: users of an organisation.
 */
export type Access =
  | "anyone"
  | "operator"
  | "members"
  | "integrations"
  | "views"
  | "simulator"
  | "usage"
  | "endpoints"
  | "import"
  | "organization";

const managesOwnIntegrations = ({ scopes, organization }: Session): boolean =>
  organization !== null && scopes.includes("webhooks:manage");

const accessRules: Readonly<Record<Access, (session: Session) => boolean>> = {
  anyone: () => true,
  operator: ({ user }) => user.role === "operator",
  members: ({ user }) => user.role === "owner" || user.role === "operator",
  integrations: ({ scopes }) => scopes.includes("webhooks:manage"),
  views: ({ user }) => ["owner", "dispatcher", "operator"].includes(user.role),
  usage: managesOwnIntegrations,
  endpoints: managesOwnIntegrations,
  import: ({ organization, scopes }) =>
    scopes.includes("jobs:write") && (organization === null || organization.can_import_jobs),
  organization: ({ organization }) => organization !== null,
  simulator: ({ test_scopes: scopes }) => scopes.includes("jobs:write"),
};

/** True if the user must turn on two-factor authentication before they can open any other page. */
export function needsTwoFactor({ user }: Session): boolean {
  return user.requires_two_factor && !user.has_two_factor;
}

export function canVisit(session: Session, access: Access): boolean {
  return accessRules[access](session);
}
