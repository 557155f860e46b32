/** The caller of the webhook services. Partners see their own organisation, operators all of them. */
import type { AuditSource } from "../audit/api.ts";
import { toTypedId } from "../core/ids.ts";
import { systemActor, type Actor } from "../core/principal.ts";
import type { AuthenticatedActor } from "../core/fresh-authentication.ts";

/** Every `Principal` satisfies this interface. */
export interface WebhookPrincipal extends AuthenticatedActor, Partial<AuditSource> {
  /** Null for an operator, who can access every organisation. */
  readonly organizationId: string | null;
  /** Set if `organizationId` is a test organisation. */
  readonly liveOrganizationId?: string | undefined;
}

export type EndpointOwner = WebhookPrincipal & { readonly organizationId: string };

export const systemPrincipal: WebhookPrincipal = { organizationId: null, actor: systemActor };

/** The text stored in `created_by`: "operator" or the typed id of a key or user. */
export function actorLabel({ type, id }: Actor): string {
  if (type === "system" || id === null) return "operator";
  return toTypedId(type === "key" ? "key" : "usr", id);
}
