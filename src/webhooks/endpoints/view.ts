/** Endpoints as the API shows them: typed ids, times in ISO 8601, no secrets. */
import type { Loaded } from "@mikro-orm/postgresql";
import type { EventType } from "../../events/api.ts";
import { toTypedId } from "../../core/ids.ts";
import { modeOf, type OrganizationMode } from "../../organizations/api.ts";
import type { OrganizationType } from "../../core/principal.ts";
import type { SecretBox } from "../../core/secret-box.ts";
import { openHeaders, openSecrets } from "../signing/secrets.ts";
import { maskHeaders } from "./custom-headers.ts";
import type { DisabledReason, EndpointStatus, WebhookEndpoint } from "./entity.ts";

export interface EndpointView {
  id: string;
  organizationId: string;
  organizationName: string;
  organizationType: OrganizationType;
  mode: OrganizationMode;
  url: string;
  description: string;
  /** Null: all types, including future ones. */
  eventTypes: EventType[] | null;
  /** Custom headers with masked values. */
  headers: Record<string, string>;
  maxInFlight: number;
  perSecond: number;
  status: EndpointStatus;
  /** Null unless disabled. */
  disabledReason: DisabledReason | null;
  /** When the status last changed. */
  statusSince: string;
  /** Nothing is sent before this time, because the receiver asked for a pause or the circuit is open. */
  blockedUntil: string | null;
  isCircuitOpen: boolean;
  /** The first failure after the last success. */
  failingSince: string | null;
  /** The number of pending deliveries, at most `PENDING_COUNT_LIMIT`. */
  pending: number;
  /** Why secrets or headers cannot be decrypted; null if they can. */
  problem: string | null;
  secretCreatedAt: string;
  previousSecretsExpireAt: string[];
  createdBy: string;
  createdAt: string;
  updatedAt: string;
}

/** Higher counts are reported as this number. */
export const PENDING_COUNT_LIMIT = 10_000;

/** An endpoint with its organisation. */
export type LoadedEndpoint = Loaded<WebhookEndpoint, "organization">;

/** If secrets or headers cannot be decrypted, the view has the reason in `problem`. */
export function toEndpointView(
  endpoint: LoadedEndpoint,
  { secretBox, pending, nowMs }: { secretBox: Pick<SecretBox, "open">; pending: number; nowMs: number },
): EndpointView {
  const { organization, secrets } = endpoint;
  const { headers, problem } = decrypt(endpoint, secretBox, nowMs);
  const [current, ...former] = secrets;
  return {
    id: toTypedId("whe", endpoint.id),
    organizationId: toTypedId("org", organization.id),
    organizationName: organization.name,
    organizationType: organization.type,
    mode: modeOf(organization),
    url: endpoint.url,
    description: endpoint.description,
    eventTypes: endpoint.eventTypes ?? null,
    headers: maskHeaders(headers),
    maxInFlight: endpoint.maxInFlight,
    perSecond: endpoint.perSecond,
    status: endpoint.status,
    disabledReason: endpoint.status === "disabled" ? (endpoint.disabledReason ?? null) : null,
    statusSince: endpoint.statusSince.toISOString(),
    blockedUntil: endpoint.blockedUntil?.toISOString() ?? null,
    isCircuitOpen: typeof endpoint.circuitStep === "number",
    failingSince: endpoint.failingSince?.toISOString() ?? null,
    pending,
    problem,
    secretCreatedAt: current?.created_at ?? endpoint.createdAt.toISOString(),
    previousSecretsExpireAt: former.flatMap(({ expires_at: end }) =>
      end !== null && Date.parse(end) > nowMs ? [end] : [],
    ),
    createdBy: endpoint.createdBy,
    createdAt: endpoint.createdAt.toISOString(),
    updatedAt: endpoint.updatedAt.toISOString(),
  };
}

function decrypt(
  { id, secrets, sealedHeaders }: LoadedEndpoint,
  secretBox: Pick<SecretBox, "open">,
  nowMs: number,
): { headers: Record<string, string>; problem: string | null } {
  try {
    openSecrets(secretBox, id, { secrets, nowMs });
    return { headers: openHeaders(secretBox, id, sealedHeaders), problem: null };
  } catch (error) {
    return { headers: {}, problem: (error as Error).message };
  }
}
