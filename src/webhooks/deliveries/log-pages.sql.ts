/** Queries for the delivery log, limited to what the principal can see. */
import { z } from "zod";
import type { OrganizationSelection } from "../../organizations/api.ts";
import { decodeCursor, encodeCursor } from "../../core/cursor.ts";
import type { Queryable } from "../../core/postgres/database.ts";
import { AppError, badRequest } from "../../core/errors.ts";
import { minUuidAt, fromTypedId } from "../../core/ids.ts";
import { join, raw, sql, type Sql } from "../../core/postgres/sql.ts";
import type { WebhookPrincipal } from "../webhook-principal.ts";
import {
  attemptsByDelivery,
  deliveryColumns,
  findDeliveriesById,
  requestBodiesOf,
  tenantFilter,
} from "./log-lookups.sql.ts";
import {
  type deliveryDetailView,
  toDeliveryView,
  type DeliveryRow,
  type DeliveryStatusFilter,
  type HttpClass,
  type DeliveryView,
} from "./view.ts";
import { FINISHED, RETRYING, NEVER_ATTEMPTED } from "./queue-lanes.sql.ts";

/** The selection of organisations is for operators. */
export interface DeliveryFilter extends OrganizationSelection {
  /** Typed id. */
  endpointId?: string | undefined;
  status?: DeliveryStatusFilter | undefined;
  eventType?: string | undefined;
  markingNumber?: string | undefined;
  /** The result of the last attempt, such as `http_500` or `timeout`. */
  outcome?: string | undefined;
  /** The class of that result. Without a status, this and `outcome` leave out discarded deliveries. */
  httpClass?: HttpClass | undefined;
  /** Only deliveries created at or after this time. */
  since?: Date | undefined;
  /** Only deliveries created before this time. */
  until?: Date | undefined;
}

export interface DeliveryPage {
  /** Newest first. */
  items: DeliveryView[];
  /** Null on the last page. */
  nextCursor: string | null;
  cursorOf: (delivery: DeliveryView) => string;
}

/** `requestBody` is the exact body that is sent; null if the event no longer exists. */
export interface DeliveryDetail extends z.output<typeof deliveryDetailView> {
  jobId: string | null;
}

const CURSOR_KIND = "deliveries";
const cursorShape = z.union([z.tuple([z.uuid()]), z.tuple([z.uuid(), z.uuid(), z.uuid()])]);

/** A position in the list. All ids are UUIDs. */
export interface DeliveryPosition {
  /** The page has only deliveries with lower ids. */
  readonly before: string;
  /** Limits the list to the replays to one endpoint, back to the delivery `first`. */
  readonly replay?: { readonly endpointId: string; readonly first: string } | undefined;
}

export function deliveryCursor({ before, replay }: DeliveryPosition): string {
  return encodeCursor(CURSOR_KIND, [before, ...(replay ? [replay.endpointId, replay.first] : [])]);
}

/** Null if `text` is not a cursor of this list. */
export function readDeliveryCursor(text: string): DeliveryPosition | null {
  const [before, endpointId, first] = decodeCursor(CURSOR_KIND, cursorShape, text) ?? [];
  if (before === undefined) return null;
  return { before, replay: endpointId && first ? { endpointId, first } : undefined };
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
  const position = cursor === undefined ? null : readDeliveryCursor(cursor);
  if (cursor !== undefined && position === null)
    throw badRequest([
      {
        location: "query",
        field: "cursor",
        code: "invalid_value",
        message: "is not a cursor of this list; pass the cursor of the previous page unchanged",
      },
    ]);
  const endpointIds = await endpointIdsFor(database, principal, filter);
  const conditions = [
    sql`endpoint_id = endpoint.id`,
    sql`id >= ${minUuidAt(since)}::uuid`,
    ...(position ? positionSql(position) : []),
    ...deliveryFilterSql(filter),
  ];
  // The result has no index, so a page searches a limited number of deliveries.
  const result = resultFilterSql(filter);
  const searched = Math.max(limit + 1, Math.floor(MAX_SEARCHED / Math.max(1, endpointIds.length)));
  const lanes = lanesOf(filter).map(
    (lane, number) => sql`(select ${deliveryColumns}, ${raw(String(number))} as lane from webhook_delivery
      where ${lane} and ${join(conditions, " and ")} order by id desc limit ${result ? searched : limit + 1})`,
  );
  const found = sql`select delivery.* from unnest(${endpointIds}::uuid[]) endpoint (id)
    cross join lateral (${join(lanes, " union all ")}) delivery`;
  const rows = await database.query<DeliveryRow & { horizon: string | null; lane: number }>(
    result ? searchedPageSql(found, { result, searched, limit }) : pageSql(found, limit),
  );
  const horizon = rows[0]?.horizon ?? null;
  const matches = rows.filter(({ id }) => id !== null);
  const items = matches
    .slice(0, limit)
    .map(({ horizon: _horizon, lane: _lane, ...row }) => toDeliveryView(row));
  const cursorBefore = (before: string): string => deliveryCursor({ before, replay: position?.replay });
  const cursorOf = ({ id }: DeliveryView): string => cursorBefore(fromTypedId("dlv", id) as string);
  const last = items.at(-1);
  const endOfPage = horizon === null ? null : cursorBefore(horizon);
  return { items, nextCursor: last && matches.length > limit ? cursorOf(last) : endOfPage, cursorOf };
}

/** Rows searched of all endpoints for a result. */
const MAX_SEARCHED = 20_000;

const pageSql = (found: Sql, limit: number): Sql => sql`
  select page.*, null as horizon, job.marking_number as "markingNumber"
  from (${found} order by id desc limit ${limit + 1}) page left join job on job.id = page."jobId"
  order by page.id desc`;

/**
 * The page of the rows of `found` with a result. `horizon`: below it, a lane with `searched` rows may have more, so the next page
 * starts there. Always returns a row, whose id is null on a page without deliveries.
 */
function searchedPageSql(
  found: Sql,
  { result, searched, limit }: { result: Sql; searched: number; limit: number },
): Sql {
  return sql`
    with found as materialized (${found}), horizon as (
      -- As text, because PostgreSQL has no min(uuid).
      select max(lowest)::uuid as id from (
        select min(id::text) as lowest from found group by "endpointId", lane having count(*) >= ${searched}::int) cut
    )
    select page.*, horizon.id as horizon, job.marking_number as "markingNumber"
    from horizon left join lateral (
      select * from found where (horizon.id is null or found.id >= horizon.id) and ${result}
      order by id desc limit ${limit + 1}) page on true
      left join job on job.id = page."jobId"
    order by page.id desc`;
}

function positionSql({ before, replay }: DeliveryPosition): Sql[] {
  const isBefore = sql`id < ${before}::uuid`;
  if (!replay) return [isBefore];
  const { endpointId, first } = replay;
  return [
    isBefore,
    sql`id >= ${first}::uuid`,
    sql`origin = 'replay'`,
    sql`endpoint_id = ${endpointId}::uuid`,
  ];
}

export const noSuchDelivery = (): AppError =>
  new AppError("NotFoundException", "There is no such delivery", { resource: "deliveries" });

export async function getDelivery(
  database: Queryable,
  principal: WebhookPrincipal,
  id: string,
): Promise<DeliveryDetail> {
  const uuid = fromTypedId("dlv", id);
  const [delivery] = uuid === null ? [] : await findDeliveriesById(database, principal, [uuid]);
  if (uuid === null || !delivery) throw noSuchDelivery();
  const attempts = await attemptsByDelivery(database, principal, [uuid]);
  const bodies = await requestBodiesOf(database, principal, [uuid]);
  return { ...delivery, attempts: attempts.get(uuid) ?? [], requestBody: bodies.get(uuid) ?? null };
}

/** The ids (UUIDs) of the matching endpoints, including deleted ones, whose log is kept. Throws NotFoundException. */
async function endpointIdsFor(
  database: Queryable,
  principal: WebhookPrincipal,
  { endpointId, ...selection }: DeliveryFilter,
): Promise<string[]> {
  const uuid = endpointId === undefined ? null : fromTypedId("whe", endpointId);
  const rows =
    endpointId !== undefined && uuid === null
      ? []
      : await database.query<{ id: string }>(sql`
          select endpoint.id from webhook_endpoint endpoint where ${tenantFilter(principal)}
            ${uuid === null ? sql`` : sql`and endpoint.id = ${uuid}`}
            ${isOwnerSelected(selection)}`);
  if (endpointId !== undefined && rows.length === 0)
    throw new AppError("NotFoundException", "There is no such webhook endpoint", { resource: "endpoint" });
  return rows.map(({ id }) => id);
}

/** SQL condition on `endpoint`, with a leading `and`. */
function isOwnerSelected({ organizationId, mode }: OrganizationSelection): Sql {
  if (organizationId === undefined && mode === undefined) return sql``;
  const isOf = sql`${organizationId ?? null}::uuid in (id, live_organization_id)`;
  return sql`and endpoint.organization_id in (select id from organization where true
    ${organizationId === undefined ? sql`` : sql`and ${isOf}`}
    ${mode === undefined ? sql`` : raw(`and live_organization_id is ${mode === "live" ? "" : "not "}null`)})`;
}

/**
 * SQL conditions for the lanes or partitions that have such deliveries. The status is a literal, because a generic plan cannot
 * match a parameter with the predicate of a partial index.
 */
function lanesOf({ status, outcome, httpClass }: DeliveryFilter): Sql[] {
  if (status === "pending") return [NEVER_ATTEMPTED, RETRYING];
  if (status === "retrying") return [RETRYING];
  if (status !== undefined) return [raw(`status = '${status}'`)];
  if (outcome === undefined && httpClass === undefined) return [NEVER_ATTEMPTED, RETRYING, FINISHED];
  const isDelivered = outcome === "delivered" || httpClass === "http_2xx";
  return isDelivered ? [raw("status = 'delivered'")] : [RETRYING, raw("status = 'failed'")];
}

/** A condition on a row of `deliveryColumns`; null for any result. */
function resultFilterSql({ outcome, httpClass }: DeliveryFilter): Sql | null {
  const conditions = [
    ...(outcome === undefined ? [] : [sql`outcome = ${outcome}`]),
    ...(httpClass === undefined ? [] : [HTTP_CLASSES[httpClass]]),
  ];
  return conditions.length === 0 ? null : join(conditions, " and ");
}

const HTTP_CLASSES: Record<HttpClass, Sql> = {
  http_2xx: raw("outcome = 'delivered'"),
  http_3xx: raw("starts_with(outcome, 'http_3')"),
  http_4xx: raw("starts_with(outcome, 'http_4')"),
  http_5xx: raw("starts_with(outcome, 'http_5')"),
  no_response: raw("outcome <> 'delivered' and not starts_with(outcome, 'http_')"),
};

function deliveryFilterSql({ eventType, markingNumber, until }: DeliveryFilter): Sql[] {
  return [
    ...(until === undefined ? [] : [sql`id < ${minUuidAt(until)}::uuid`]),
    ...(eventType === undefined ? [] : [sql`event_type = ${eventType}`]),
    // The look-up is not limited by visibility, but it only filters the principal's own deliveries.
    ...(markingNumber === undefined
      ? []
      : [sql`job_id = (select job.id from job where job.marking_number = ${markingNumber})`]),
  ];
}
