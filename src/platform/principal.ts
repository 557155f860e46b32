/** Who asks: what every service is told about the caller, whichever door it came through. */
import { toTypedId } from "./ids.ts";

export const organizationTypes = ["agent", "contractor"] as const;
export type OrganizationType = (typeof organizationTypes)[number];

export const actorTypes = ["key", "user", "system"] as const;

/** Who made a change, as history keeps it. `id` is a uuid; null for the system. */
export interface Actor {
  readonly type: (typeof actorTypes)[number];
  readonly id: string | null;
}

/** A partner. It sees the jobs of `organizationId`, and nothing else. */
export interface OrganizationPrincipal {
  readonly organizationId: string;
  readonly organizationType: OrganizationType;
  readonly actor: Actor;
}

/** Who runs the service: belongs to no organisation, and sees what is every one's. */
export interface OperatorPrincipal {
  readonly organizationId: null;
  readonly organizationType: null;
  readonly actor: Actor;
}

/** Whoever may read jobs. */
export type Principal = OrganizationPrincipal | OperatorPrincipal;

/** What a change is recorded with. */
export interface ChangeContext {
  readonly actor: Actor;
  readonly requestId: string | null;
}

/** Who it was, for a line of the log. */
export function principalLogFields({ organizationId, actor }: Principal): Record<string, string> {
  return {
    ...(organizationId !== null && { organization: toTypedId("org", organizationId) }),
    ...(actor.id !== null && { [actor.type]: toTypedId(actor.type === "key" ? "key" : "usr", actor.id) }),
  };
}

export const systemActor: Actor = { type: "system", id: null };
