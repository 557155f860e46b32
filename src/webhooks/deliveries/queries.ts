/** Reading the log of deliveries, each read bounded to what the caller may see. */
import type { Clock } from "../../platform/clock.ts";
import { decodeIdCursor, encodeCursor } from "../../platform/cursor.ts";
import type { Queryable } from "../../platform/postgres/database.ts";
import { AppError, badRequest } from "../../platform/errors.ts";
import { minUuidAt, fromTypedId } from "../../platform/ids.ts";
import type { OrganizationType } from "../../platform/principal.ts";
import { join, raw, sql, type Sql } from "../../platform/postgres/sql.ts";
import { tenantFilter, type WebhookPrincipal } from "../tenant-scope.ts";
import { requestBodiesOf } from "./request-bodies.ts";
import {
  attemptColumns,
  deliveryColumns,
  toAttemptView,
  toDeliveryView,
  type AttemptRow,
  type AttemptView,
  type DeliveryRow,
  type DeliveryStatus,
  type DeliveryView,
} from "./view.ts";
import { RETRYING, FINISHED, NEVER_ATTEMPTED } from "./queue.sql.ts";

export interface DeliveryFilter {
  /** Typed id. */
  endpointId?: string | undefined;
  /** A uuid: for an operator, who sees all of them. */
  organizationId?: string | undefined;
  status?: DeliveryStatus | undefined;
  eventType?: string | undefined;
  markingNumber?: string | undefined;
  /** How the last attempt ended: `http_500`, `timeout`, … */
  outcome?: string | undefined;
}

export interface DeliveryPage {
  /** Newest first. */
  items: DeliveryView[];
  /** Null: there are no more. */
  nextCursor: string | null;
}

export interface DeliveryWithAttempts {
  delivery: DeliveryView;
  /** In order. */
  attempts: AttemptView[];
  /** What is sent, to the byte; null where the event is gone. */
  requestBody: string | null;
}

interface DeliveryReadDeps {
  database: Queryable;
  clock: Clock;
  /** How far back the log goes. */
  retentionDays: number;
}

const CURSOR_KIND = "deliveries";

/** A delivery's place in the list. */
export function deliveryCursor({ id }: DeliveryView): string {
  return encodeCursor(CURSOR_KIND, [fromTypedId("dlv", id)]);
}

/** The uuid of the delivery at that place; null where `text` is no cursor of the list. */
export function readDeliveryCursor(text: string): string | null {
  return decodeIdCursor(CURSOR_KIND, text);
}

export interface DeliveryPageRequest {
  filter: DeliveryFilter;
  limit: number;
  /** Where to go on: the `nextCursor` of the page before. */
  cursor?: string | undefined;
}

export async function listDeliveries(
  { database, clock, retentionDays }: DeliveryReadDeps,
  principal: WebhookPrincipal,
  { filter, limit, cursor }: DeliveryPageRequest,
): Promise<DeliveryPage> {
  const after = cursor === undefined ? null : readDeliveryCursor(cursor);
  if (cursor !== undefined && after === null)
    throw badRequest([
      {
        location: "query",
        field: "cursor",
        code: "invalid_value",
        message: "must come from the page before",
      },
    ]);
  const endpointIds = await endpointIdsFor(database, principal, filter);
  const conditions = [
    sql`endpoint_id = endpoint.id`,
    sql`id >= ${minUuidAt(new Date(clock.now() - retentionDays * 86_400_000))}::uuid`,
    ...(after ? [sql`id < ${after}::uuid`] : []),
    ...deliveryFilterSql(filter),
  ];
  const rows = await database.query<DeliveryRow>(sql`
    select page.*, job.marking_number from (
      select delivery.* from unnest(${endpointIds}::uuid[]) endpoint (id)
        cross join lateral (${join(
          statusPartitions(filter.status).map(
            (partition) => sql`(select ${deliveryColumns} from webhook_delivery
              where ${partition} and ${join(conditions, " and ")} order by id desc limit ${limit + 1})`,
          ),
          " union all ",
        )}) delivery
      order by id desc limit ${limit + 1}
    ) page left join job on job.id = page.job_id
    order by page.id desc`);
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return {
    items: items.map(toDeliveryView),
    nextCursor: last && rows.length > limit ? deliveryCursor(toDeliveryView(last)) : null,
  };
}

export interface DeliveryDetailRow extends DeliveryRow {
  is_endpoint_deleted: boolean;
  organization_id: string;
  organization_type: OrganizationType;
}

/** `id`: typed. Throws NotFoundException where there is none that the caller may see. */
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
          select delivery.*, job.marking_number, endpoint.deleted_at is not null as is_endpoint_deleted,
            endpoint.organization_id, organization.type as organization_type
          from (select ${deliveryColumns} from webhook_delivery where id = ${uuid}) delivery
            join webhook_endpoint endpoint on endpoint.id = delivery.endpoint_id
            join organization on organization.id = endpoint.organization_id
            left join job on job.id = delivery.job_id
          where ${tenantFilter(principal)}`);
  if (!row) throw new AppError("NotFoundException", "There is no such delivery");
  return row;
}

export async function getDelivery(
  { database }: Pick<DeliveryReadDeps, "database">,
  principal: WebhookPrincipal,
  id: string,
): Promise<DeliveryWithAttempts> {
  const row = await getDeliveryRow(database, principal, id);
  const attempts = await database.query<AttemptRow>(sql`
    select ${attemptColumns} from webhook_attempt where delivery_id = ${row.id} order by number, started_at`);
  return {
    delivery: toDeliveryView(row),
    attempts: attempts.map(toAttemptView),
    requestBody: (await requestBodiesOf(database, principal, [row.id])).get(row.id) ?? null,
  };
}

/** The uuids of the endpoints whose log is asked for; deleted ones among them, since their log stays. */
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
    throw new AppError("NotFoundException", "There is no such webhook endpoint");
  return rows.map(({ id }) => id);
}

/**
 * Where deliveries lie, as conditions without values: each lane, and among the finished what is dead, has an index of its
 * own, and a plan that is made once cannot know that it fits a value.
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
    // Whether the job exists shows only in one's own deliveries.
    ...(markingNumber === undefined
      ? []
      : [sql`job_id = (select job.id from job where job.marking_number = ${markingNumber})`]),
  ];
}
