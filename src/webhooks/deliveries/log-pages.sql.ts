/** Queries for the delivery log, limited to what the principal can see. */
import { decodeIdCursor, encodeCursor } from "../../platform/cursor.ts";
import type { Queryable } from "../../platform/postgres/database.ts";
import { AppError, badRequest } from "../../platform/errors.ts";
import { minUuidAt, fromTypedId } from "../../platform/ids.ts";
import { join, raw, sql, type Sql } from "../../platform/postgres/sql.ts";
import type { WebhookPrincipal } from "../webhook-principal.ts";
import { tenantFilter } from "../tenant-scope.sql.ts";
import { attemptsByDelivery, deliveryColumns, requestBodiesOf } from "./log-lookups.sql.ts";
import {
  toDeliveryView,
  type AttemptView,
  type DeliveryRow,
  type DeliveryStatus,
  type DeliveryView,
} from "./view.ts";
import { FINISHED, RETRYING, NEVER_ATTEMPTED } from "./queue-lanes.sql.ts";

export interface DeliveryFilter {
  /** Typed id. */
  endpointId?: string | undefined;
  /** UUID. Only useful to operators, who see every organisation. */
  organizationId?: string | undefined;
  status?: DeliveryStatus | undefined;
  eventType?: string | undefined;
  markingNumber?: string | undefined;
  /** The result of the last attempt, such as `http_500` or `timeout`. */
  outcome?: string | undefined;
}

export interface DeliveryPage {
  /** Newest first. */
  items: DeliveryView[];
  /** Null on the last page. */
  nextCursor: string | null;
}

export interface DeliveryWithAttempts {
  delivery: DeliveryView;
  /** Oldest first. */
  attempts: AttemptView[];
  /** The exact body that is sent; null if the event no longer exists. */
  requestBody: string | null;
}

const CURSOR_KIND = "deliveries";

/** The cursor of a delivery in the list. */
export function deliveryCursor({ id }: DeliveryView): string {
  return encodeCursor(CURSOR_KIND, [fromTypedId("dlv", id)]);
}

/** The id (UUID) of the delivery that the cursor names; null if `text` is not a delivery cursor. */
export function readDeliveryCursor(text: string): string | null {
  return decodeIdCursor(CURSOR_KIND, text);
}

export interface DeliveryPageRequest {
  filter: DeliveryFilter;
  limit: number;
  /** The `nextCursor` of the previous page. */
  cursor?: string | undefined;
}

export async function listDeliveries(
  database: Queryable,
  principal: WebhookPrincipal,
  { filter, limit, cursor, since }: DeliveryPageRequest & { since: Date },
): Promise<DeliveryPage> {
  const after = cursor === undefined ? null : readDeliveryCursor(cursor);
  if (cursor !== undefined && after === null)
    throw badRequest([
      {
        location: "query",
        field: "cursor",
        code: "invalid_value",
        message: "must be the nextCursor of the previous page",
      },
    ]);
  const endpointIds = await endpointIdsFor(database, principal, filter);
  const conditions = [
    sql`endpoint_id = endpoint.id`,
    sql`id >= ${minUuidAt(since)}::uuid`,
    ...(after ? [sql`id < ${after}::uuid`] : []),
    ...deliveryFilterSql(filter),
  ];
  const rows = await database.query<DeliveryRow>(sql`
    select page.*, job.marking_number as "markingNumber" from (
      select delivery.* from unnest(${endpointIds}::uuid[]) endpoint (id)
        cross join lateral (${join(
          statusPartitions(filter.status).map(
            (partition) => sql`(select ${deliveryColumns} from webhook_delivery
              where ${partition} and ${join(conditions, " and ")} order by id desc limit ${limit + 1})`,
          ),
          " union all ",
        )}) delivery
      order by id desc limit ${limit + 1}
    ) page left join job on job.id = page."jobId"
    order by page.id desc`);
  const items = rows.slice(0, limit).map(toDeliveryView);
  const last = items.at(-1);
  return { items, nextCursor: last && rows.length > limit ? deliveryCursor(last) : null };
}

export interface DeliveryDetailRow extends DeliveryRow {
  isEndpointDeleted: boolean;
}

/** `id` is a typed id. Throws NotFoundException if the delivery does not exist or is not visible. */
export async function getDeliveryRow(
  database: Queryable,
  principal: WebhookPrincipal,
  id: string,
): Promise<DeliveryDetailRow> {
  const uuid = fromTypedId("dlv", id);
  const [row] =
    uuid === null
      ? []
      : await database.query<DeliveryDetailRow>(sql`
          select delivery.*, job.marking_number as "markingNumber", endpoint.deleted_at is not null as "isEndpointDeleted"
          from (select ${deliveryColumns} from webhook_delivery where id = ${uuid}) delivery
            join webhook_endpoint endpoint on endpoint.id = delivery."endpointId"
            left join job on job.id = delivery."jobId"
          where ${tenantFilter(principal)}`);
  if (!row) throw new AppError("NotFoundException", "There is no such delivery", { resource: "deliveries" });
  return row;
}

export async function getDelivery(
  database: Queryable,
  principal: WebhookPrincipal,
  id: string,
): Promise<DeliveryWithAttempts> {
  const { isEndpointDeleted: _, ...row } = await getDeliveryRow(database, principal, id);
  const attempts = await attemptsByDelivery(database, principal, [row.id]);
  const bodies = await requestBodiesOf(database, principal, [row.id]);
  return {
    delivery: toDeliveryView(row),
    attempts: attempts.get(row.id) ?? [],
    requestBody: bodies.get(row.id) ?? null,
  };
}

/** The ids (UUIDs) of the matching endpoints, including deleted ones, whose log is kept. Throws NotFoundException. */
async function endpointIdsFor(
  database: Queryable,
  principal: WebhookPrincipal,
  { endpointId, organizationId }: DeliveryFilter,
): Promise<string[]> {
  const uuid = endpointId === undefined ? null : fromTypedId("whe", endpointId);
  const rows =
    endpointId !== undefined && uuid === null
      ? []
      : await database.query<{ id: string }>(sql`
          select endpoint.id from webhook_endpoint endpoint where ${tenantFilter(principal)}
            ${uuid === null ? sql`` : sql`and endpoint.id = ${uuid}`}
            ${organizationId === undefined ? sql`` : sql`and endpoint.organization_id = ${organizationId}::uuid`}`);
  if (endpointId !== undefined && rows.length === 0)
    throw new AppError("NotFoundException", "There is no such webhook endpoint", { resource: "endpoint" });
  return rows.map(({ id }) => id);
}

/**
 * SQL conditions for the lanes or partitions with this status. The status is a literal, because a generic plan cannot match a
 * parameter with the predicate of a partial index.
 */
function statusPartitions(status: DeliveryStatus | undefined): Sql[] {
  if (status === "pending") return [NEVER_ATTEMPTED, RETRYING];
  if (status !== undefined) return [raw(`status = '${status}'`)];
  return [NEVER_ATTEMPTED, RETRYING, FINISHED];
}

function deliveryFilterSql({ eventType, markingNumber, outcome }: DeliveryFilter): Sql[] {
  return [
    ...(eventType === undefined ? [] : [sql`event_type = ${eventType}`]),
    ...(outcome === undefined ? [] : [sql`outcome = ${outcome}`]),
    // The look-up is not limited by visibility, but it only filters the principal's own deliveries.
    ...(markingNumber === undefined
      ? []
      : [sql`job_id = (select job.id from job where job.marking_number = ${markingNumber})`]),
  ];
}
