/** Look-ups of many deliveries, attempts and request bodies by id, for the delivery log. */
import { type EventAudience, type EventRow, toEventWire } from "../../events/api.ts";
import type { Queryable } from "../../core/postgres/database.ts";
import { raw, sql, type Sql } from "../../core/postgres/sql.ts";
import type { WebhookPrincipal } from "../webhook-principal.ts";
import { toTypedId } from "../../core/ids.ts";
import { FINISHED, forEndpoint, RETRYING } from "./queue-lanes.sql.ts";
import { buildPing } from "./ping.sql.ts";
import {
  toAttemptView,
  PING_TYPE,
  toDeliveryView,
  type AttemptRow,
  type AttemptView,
  type EndpointAttempt,
  type DeliveryRow,
  type DeliveryView,
} from "./view.ts";

/**
 * SQL condition: the principal can access `endpoint`, a row of `webhook_endpoint`. Every statement on deliveries must include
 * it; entity managers use the filter `endpointVisibility` of `WebhookEndpoint`.
 */
export function tenantFilter({ organizationId }: WebhookPrincipal): Sql {
  return organizationId === null ? sql`true` : sql`endpoint.organization_id = ${organizationId}::uuid`;
}

/** The columns of a `DeliveryRow` that come from `webhook_delivery`. */
export const deliveryColumns =
  raw(`id, endpoint_id as "endpointId", event_id as "eventId", event_type as "eventType", job_id as "jobId", origin,
  status, attempts as "attemptCount", outcome, due_at as "dueAt", lease_token is not null and due_at > clock_timestamp() as "isLeased",
  finished_at as "finishedAt"`);

/** The columns of an `AttemptRow`. */
export const attemptColumns = raw(`id, delivery_id as "deliveryId", number, started_at as "startedAt",
  duration_ms as "durationMs", outcome, http_status as "httpStatus", error, request_headers as "requestHeaders",
  response_headers as "responseHeaders", response_body as "responseBody"`);

export interface DeliveryDetailRow extends DeliveryRow {
  isEndpointDeleted: boolean;
}

/** The rows of the deliveries with these ids (UUIDs) that the principal can see, in no particular order. */
export function findDeliveryRows(
  database: Queryable,
  principal: WebhookPrincipal,
  ids: readonly string[],
): Promise<DeliveryDetailRow[]> {
  return database.query(sql`
    select delivery.*, job.marking_number as "markingNumber", endpoint.deleted_at is not null as "isEndpointDeleted"
    from (select ${deliveryColumns} from webhook_delivery where id = any(${ids}::uuid[])) delivery
      join webhook_endpoint endpoint on endpoint.id = delivery."endpointId"
      left join job on job.id = delivery."jobId"
    where ${tenantFilter(principal)}`);
}

/** As `findDeliveryRows`, as the API shows them. */
export async function findDeliveriesById(
  database: Queryable,
  principal: WebhookPrincipal,
  ids: readonly string[],
): Promise<DeliveryView[]> {
  const rows = await findDeliveryRows(database, principal, ids);
  return rows.map(({ isEndpointDeleted: _isDeleted, ...row }) => toDeliveryView(row));
}

/** The attempts with these ids (UUIDs) that the principal can see, in no particular order. */
export async function findAttemptsById(
  database: Queryable,
  principal: WebhookPrincipal,
  ids: readonly string[],
): Promise<AttemptView[]> {
  // Materialized, so that the plan starts from the index on attempt ids and not from the principal's deliveries.
  const rows = await database.query<AttemptRow>(sql`
    with attempt as materialized (
      select ${attemptColumns} from webhook_attempt where id = any(${ids}::uuid[]))
    select attempt.* from attempt
      join webhook_delivery delivery on delivery.id = attempt."deliveryId"
      join webhook_endpoint endpoint on endpoint.id = delivery.endpoint_id
    where ${tenantFilter(principal)}`);
  return rows.map(toAttemptView);
}

/** The attempts of visible deliveries in order, by delivery id (UUID). */
export async function attemptsByDelivery(
  database: Queryable,
  principal: WebhookPrincipal,
  deliveryIds: readonly string[],
): Promise<Map<string, AttemptView[]>> {
  const rows = await database.query<AttemptRow>(sql`
    select ${attemptColumns} from webhook_attempt where delivery_id in (${visibleIds(principal, deliveryIds)})
    order by delivery_id, number, started_at`);
  const byDelivery = Map.groupBy(rows, ({ deliveryId }) => deliveryId);
  return new Map(Array.from(byDelivery, ([id, attempts]) => [id, attempts.map(toAttemptView)]));
}

/** The last attempts of visible deliveries, by delivery id (UUID). */
export async function lastAttempts(
  database: Queryable,
  principal: WebhookPrincipal,
  deliveryIds: readonly string[],
): Promise<Map<string, AttemptView>> {
  const rows = await database.query<AttemptRow>(sql`
    select distinct on (delivery_id) ${attemptColumns} from webhook_attempt
    where delivery_id in (${visibleIds(principal, deliveryIds)}) order by delivery_id, id desc`);
  return new Map(rows.map((row) => [row.deliveryId, toAttemptView(row)]));
}

const visibleIds = (principal: WebhookPrincipal, deliveryIds: readonly string[]): Sql => sql`
  select delivery.id from webhook_delivery delivery join webhook_endpoint endpoint on endpoint.id = delivery.endpoint_id
  where delivery.id = any(${deliveryIds}::uuid[]) and ${tenantFilter(principal)}`;

const MAX_ENDPOINT_ATTEMPTS = 20;
/** Attempts are found by their delivery, and an endpoint may have millions of deliveries. */
const MAX_SEARCHED_DELIVERIES = 100;

/** The newest attempts of visible endpoints, newest first, by endpoint id (UUID). Each of these has a delivery ID. */
export async function newestAttempts(
  database: Queryable,
  principal: WebhookPrincipal,
  endpointIds: readonly string[],
): Promise<Map<string, EndpointAttempt[]>> {
  const rows = await database.query<AttemptRow & { endpointId: string }>(sql`
    select endpoint.id as "endpointId", attempt.* from webhook_endpoint endpoint
      cross join lateral (
        select ${attemptColumns} from webhook_attempt where delivery_id in (
          (select id from webhook_delivery where endpoint_id = endpoint.id and ${FINISHED}
            order by id desc limit ${MAX_SEARCHED_DELIVERIES})
          union all
          (select id from webhook_delivery where ${forEndpoint(raw("endpoint.id"))} and ${RETRYING}
            order by endpoint_id desc, due_at desc limit ${MAX_SEARCHED_DELIVERIES}))
        order by id desc limit ${MAX_ENDPOINT_ATTEMPTS}) attempt
    where endpoint.id = any(${endpointIds}::uuid[]) and ${tenantFilter(principal)}
    order by attempt.id desc`);
  const byEndpoint = Map.groupBy(rows, ({ endpointId }) => endpointId);
  return new Map(Array.from(byEndpoint, ([id, attempts]) => [id, attempts.map(toEndpointAttempt)]));
}

function toEndpointAttempt(row: AttemptRow): EndpointAttempt {
  return { ...toAttemptView(row), deliveryId: toTypedId("dlv", row.deliveryId) };
}

/** The event's columns are null for a ping and if the event no longer exists. */
type RequestBodyRow = EventAudience & {
  delivery_id: string;
  event_id: string;
  endpoint_id: string;
  event_type: string;
} & (EventRow | { [Name in keyof EventRow]: null });

/** The exact bodies by delivery id (UUID). Invisible deliveries and those without an event are missing. */
export async function requestBodiesOf(
  database: Queryable,
  principal: WebhookPrincipal,
  deliveryIds: readonly string[],
): Promise<Map<string, string>> {
  const rows = await database.query<RequestBodyRow>(sql`
    select delivery.id as delivery_id, delivery.event_id, delivery.endpoint_id, delivery.event_type,
      endpoint.organization_id as "organizationId", organization.type as "organizationType",
      event.id, event.type, event.sequence, event.actor_type, event.actor_id, event.request_id, event.occurred_at,
      event.changes, event.job
    from webhook_delivery delivery
      join webhook_endpoint endpoint on endpoint.id = delivery.endpoint_id
      join organization on organization.id = endpoint.organization_id
      left join job_event event on event.id = delivery.event_id
    where delivery.id = any(${deliveryIds}::uuid[]) and ${tenantFilter(principal)}`);
  const bodies = new Map<string, string>();
  for (const row of rows) {
    const isPing = row.event_type === PING_TYPE;
    const body = isPing ? buildPing(row.event_id, row.endpoint_id) : row.id && toEventWire(row, row);
    if (body) bodies.set(row.delivery_id, JSON.stringify(body));
  }
  return bodies;
}
