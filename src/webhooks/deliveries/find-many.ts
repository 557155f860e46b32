/** Batch look-ups of deliveries and attempts by id. */
import type { Queryable } from "../../platform/postgres/database.ts";
import { sql } from "../../platform/postgres/sql.ts";
import { tenantFilter, type WebhookPrincipal } from "../tenant-scope.ts";
import {
  attemptColumns,
  deliveryColumns,
  toAttemptView,
  toDeliveryView,
  type AttemptRow,
  type AttemptView,
  type DeliveryRow,
  type DeliveryView,
} from "./view.ts";

/** The deliveries with these ids (UUIDs) that the principal can see, in no particular order. */
export async function findDeliveriesById(
  database: Queryable,
  principal: WebhookPrincipal,
  ids: readonly string[],
): Promise<DeliveryView[]> {
  const rows = await database.query<DeliveryRow>(sql`
    select delivery.*, job.marking_number
    from (select ${deliveryColumns} from webhook_delivery where id = any(${ids}::uuid[])) delivery
      join webhook_endpoint endpoint on endpoint.id = delivery.endpoint_id
      left join job on job.id = delivery.job_id
    where ${tenantFilter(principal)}`);
  return rows.map(toDeliveryView);
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
      select delivery_id, ${attemptColumns} from webhook_attempt where id = any(${ids}::uuid[]))
    select attempt.* from attempt
      join webhook_delivery delivery on delivery.id = attempt.delivery_id
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
  const rows = await database.query<AttemptRow & { delivery_id: string }>(sql`
    select delivery_id, ${attemptColumns} from webhook_attempt
    where delivery_id in (
      select delivery.id from webhook_delivery delivery join webhook_endpoint endpoint on endpoint.id = delivery.endpoint_id
      where delivery.id = any(${deliveryIds}::uuid[]) and ${tenantFilter(principal)})
    order by delivery_id, number, started_at`);
  const attempts = new Map<string, AttemptView[]>();
  for (const { delivery_id: id, ...row } of rows) {
    const deliveryAttempts = attempts.get(id);
    if (deliveryAttempts) deliveryAttempts.push(toAttemptView(row));
    else attempts.set(id, [toAttemptView(row)]);
  }
  return attempts;
}
