/** Label and description of each role. */
import type { MemberRole } from "../../generated/members.ts";
import type { Role } from "./session.ts";

const dispatcher = {
  label: "Dispatcher",
  description: "Views and changes jobs, and saves filters as views.",
};

export const roles: Readonly<Record<MemberRole, { label: string; description: string }>> = {
  OWNER: { label: "Owner", description: "Can do everything, and manages members." },
  DEVELOPER: {
    label: "Developer",
    description: "Manages API keys and webhooks, reads the request log, and views jobs.",
  },
  DISPATCHER: dispatcher,
  /** Deprecated in the SDL; the server returns it for no user. */
  MEMBER: dispatcher,
  VIEWER: { label: "Viewer", description: "Views jobs, and changes nothing." },
  OPERATOR: { label: "Operator", description: "Runs this service, and sees every organisation." },
};

/** The roles that an owner can give, the least powerful last. */
export const organizationRoles = ["OWNER", "DEVELOPER", "DISPATCHER", "VIEWER"] as const;

export function roleLabel(role: Role): string {
  return roles[role.toUpperCase() as Uppercase<Role>].label;
}
