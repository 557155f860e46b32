/** Endpoints as the API shows them: typed ids, times in ISO 8601, no secrets. */
import { toTypedId } from "../../platform/ids.ts";
import type { OrganizationType } from "../../platform/principal.ts";
import { join, raw, sql } from "../../platform/postgres/sql.ts";
import { toIsoTime } from "../../platform/time.ts";
import type { EventType } from "../../events/api.ts";
import { maskHeaders } from "./custom-headers.ts";
import { RETRYING, NEVER_ATTEMPTED } from "../deliveries/queue.sql.ts";
import type { DisabledReason, EndpointStatus, SealedSecret } from "./entity.ts";

export interface EndpointView {
  id: string;
  organizationId: string;
  organizationName: string;
  organizationType: OrganizationType;
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

export interface EndpointRow {
  id: string;
  organization_id: string;
  organization_name: string;
  organization_type: OrganizationType;
  url: string;
  description: string;
  event_types: EventType[] | null;
  sealed_headers: string | null;
  secrets: SealedSecret[];
  max_in_flight: number;
  per_second: number;
  status: EndpointStatus;
  disabled_reason: DisabledReason | null;
  status_since: string;
  blocked_until: string | null;
  circuit_step: number | null;
  failing_since: string | null;
  version: number;
  pending: number;
  created_by: string;
  created_at: string;
  updated_at: string;
}

/** Higher counts are reported as this number. */
export const PENDING_COUNT_LIMIT = 10_000;

/** SQL expression: the number of pending deliveries of `endpoint`. Counts at most PENDING_COUNT_LIMIT per lane. */
export const pendingCountSql = join(
  [NEVER_ATTEMPTED, RETRYING].map(
    (lane) => sql`(select count(*) from (select from webhook_delivery
      where webhook_delivery.endpoint_id = endpoint.id and ${lane} limit ${raw(String(PENDING_COUNT_LIMIT))}) lane)`,
  ),
  " + ",
);

/** The columns of an `EndpointRow`, for a query from `endpoint` and `organization`. */
export const endpointColumns = sql`endpoint.id, endpoint.organization_id, organization.name as organization_name, organization.type as organization_type, url,
  description, event_types, sealed_headers, secrets, max_in_flight, per_second, endpoint.status, disabled_reason,
  status_since, blocked_until, circuit_step, failing_since, endpoint.version, created_by, endpoint.created_at, updated_at,
  least(${pendingCountSql}, ${raw(String(PENDING_COUNT_LIMIT))})::int as pending`;

export interface ViewContext {
  /** Decrypted custom headers. */
  headers: Readonly<Record<string, string>>;
  problem: string | null;
  nowMs: number;
}

export function toEndpointView(row: EndpointRow, { headers, problem, nowMs }: ViewContext): EndpointView {
  const [current, ...former] = row.secrets;
  return {
    id: toTypedId("whe", row.id),
    organizationId: toTypedId("org", row.organization_id),
    organizationName: row.organization_name,
    organizationType: row.organization_type,
    url: row.url,
    description: row.description,
    eventTypes: row.event_types,
    headers: maskHeaders(headers),
    maxInFlight: row.max_in_flight,
    perSecond: row.per_second,
    status: row.status,
    disabledReason: row.status === "disabled" ? row.disabled_reason : null,
    statusSince: toIsoTime(row.status_since),
    blockedUntil: timeOrNull(row.blocked_until),
    isCircuitOpen: row.circuit_step !== null,
    failingSince: timeOrNull(row.failing_since),
    pending: row.pending,
    problem,
    secretCreatedAt: current?.created_at ?? toIsoTime(row.created_at),
    previousSecretsExpireAt: former.flatMap(({ expires_at: end }) =>
      end !== null && Date.parse(end) > nowMs ? [end] : [],
    ),
    createdBy: row.created_by,
    createdAt: toIsoTime(row.created_at),
    updatedAt: toIsoTime(row.updated_at),
  };
}

function timeOrNull(text: string | null): string | null {
  return text === null ? null : toIsoTime(text);
}
