/** The authenticated caller, as services receive it from REST, GraphQL and the CLI. */
import { toTypedId } from "./ids.ts";

export const organizationTypes = ["agent", "contractor"] as const;
export type OrganizationType = (typeof organizationTypes)[number];

export const actorTypes = ["key", "user", "system"] as const;

/** The author of a change, as stored in history. `id` is a UUID; null for the system. */
export interface Actor {
  readonly type: (typeof actorTypes)[number];
  readonly id: string | null;
  /** True for an operator's key; absent for every other actor. */
  readonly isOperatorKey?: true;
}

/** A key or user of an organisation. It sees only the jobs of `organizationId`. */
export interface OrganizationPrincipal {
  readonly organizationId: string;
  readonly organizationType: OrganizationType;
  /** Uuid of the live organisation if `organizationId` is a test organisation; absent for a live one. */
  readonly liveOrganizationId?: string | undefined;
  /** An IANA name; absent: UTC. Its days begin and end in this time zone. */
  readonly timeZone?: string | undefined;
  /** True for users of a live agent that may import jobs. */
  readonly canImportJobs?: boolean;
  readonly actor: Actor;
}

/** An operator: belongs to no organisation and sees the data of all of them. */
export interface OperatorPrincipal {
  readonly organizationId: null;
  readonly organizationType: null;
  /** The days of operators are in UTC. */
  readonly timeZone?: undefined;
  readonly actor: Actor;
}

export type Principal = OrganizationPrincipal | OperatorPrincipal;

/**
 * Returns the UUID of a principal's partner: a live organisation, together with its test organisations. Members and the audit log
 * belong to it, and so do limits and shares. Null for operators.
 */
export function partnerOf<Id extends string | null>({
  organizationId,
  liveOrganizationId,
}: {
  organizationId: Id;
  liveOrganizationId?: string | undefined;
}): string | Id {
  return liveOrganizationId ?? organizationId;
}

export function isTestPrincipal(principal: Principal): boolean {
  return principal.organizationId !== null && principal.liveOrganizationId !== undefined;
}

/** Recorded with each change. */
export interface ChangeContext {
  readonly actor: Actor;
  readonly requestId: string | null;
}

/** Returns the log fields that identify a principal: its organisation, and its key or user. */
export function principalLogFields({ organizationId, actor }: Principal): Record<string, string> {
  return {
    ...(organizationId !== null && { organization: toTypedId("org", organizationId) }),
    ...(actor.id !== null && { [actor.type]: toTypedId(actor.type === "key" ? "key" : "usr", actor.id) }),
  };
}

export const systemActor: Actor = { type: "system", id: null };

/** Sees the data of all organisations, for work that no user or key asked for. */
export const systemPrincipal: OperatorPrincipal = {
  organizationId: null,
  organizationType: null,
  actor: systemActor,
};
