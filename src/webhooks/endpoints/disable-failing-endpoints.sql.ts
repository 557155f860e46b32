/** Disables endpoints that have only failed for days, or seconds in test mode. */
import type { Database } from "../../core/postgres/database.ts";
import type { OrganizationMode } from "../../organizations/api.ts";
import { raw, sql, type Sql } from "../../core/postgres/sql.ts";
import { minUuidAt, toTypedId } from "../../core/ids.ts";
import { DAY_MS } from "../../core/time.ts";
import { RETRYING, FINISHED } from "../deliveries/queue-lanes.sql.ts";
import { type DisableRule, disableRules } from "../retry-policy.ts";
import type { AlertNotifier, EndpointAlert } from "./alerts.ts";

/** Longer than the retry schedule: older deliveries have finished. */
const LOOK_BACK_MS = 30 * DAY_MS;

export interface DisabledEndpoint {
  /** Typed id. */
  readonly id: string;
  readonly url: string;
}

/**
 * Disables the active endpoints of this mode to which `disableRules` apply. Alerts the owners of each in its transaction, if
 * there is a notifier. Returns the disabled endpoints.
 */
export async function disableFailing(
  database: Database,
  mode: OrganizationMode,
  alertNotifier: AlertNotifier | undefined,
): Promise<DisabledEndpoint[]> {
  const rule = disableRules[mode];
  // PostgreSQL's clock, so that a worker with a wrong clock cannot disable endpoints too early.
  const candidates = await database.query<{ id: string; now_ms: number }>(sql`
    select endpoint.id, (extract(epoch from clock_timestamp()) * 1000)::float8 as now_ms
    from webhook_endpoint endpoint join organization on organization.id = endpoint.organization_id
    where endpoint.status = 'active' and endpoint.deleted_at is null and endpoint.failing_since <= clock_timestamp() - ${rule.afterMs}::int8 * interval '1 ms'
      and ${ofMode[mode]}`);
  const disabled: DisabledEndpoint[] = [];
  // One at a time: the check can read a long log and must not slow down deliveries.
  for (const { id, now_ms: nowMs } of candidates) {
    const before = new Date(nowMs - rule.afterMs);
    const oldest = minUuidAt(new Date(nowMs - LOOK_BACK_MS));
    await database.transaction(async (tx) => {
      const [row] = await tx.query<EndpointAlert>(disableEndpointSql(id, { before, oldest, ...rule }));
      if (!row) return;
      await alertNotifier?.(tx, row);
      tx.afterCommit(() => disabled.push({ id: toTypedId("whe", id), url: row.url }));
    });
  }
  return disabled;
}

const ofMode = {
  live: raw("organization.live_organization_id is null"),
  test: raw("organization.live_organization_id is not null"),
};

function disableEndpointSql(
  id: string,
  { before, oldest, spreadMs }: Pick<DisableRule, "spreadMs"> & { before: Date; oldest: string },
): Sql {
  // Deliveries that succeeded before the failures have no later attempts, so most attempts are not read.
  const deliveriesIn = (partition: Sql): Sql => sql`
    select id, event_id from webhook_delivery
    where ${partition} and endpoint_id = ${id}::uuid and id >= ${oldest}::uuid and origin <> 'test'`;
  // To find two events that failed far enough apart, the two earliest and the two latest suffice.
  return sql`
    update webhook_endpoint endpoint
    set status = 'disabled', disabled_reason = 'failing', status_since = now(), updated_at = now()
    where endpoint.id = ${id}::uuid and endpoint.status = 'active' and endpoint.deleted_at is null
      and endpoint.failing_since <= ${before}::timestamptz
      and exists (
        with failed as materialized (
          select delivery.event_id, min(attempt.started_at) as first, max(attempt.started_at) as last
          from (
            ${deliveriesIn(RETRYING)}
            union all
            ${deliveriesIn(FINISHED)} and attempts > 0
              and (status <> 'delivered' or finished_at >= endpoint.failing_since)
          ) delivery join webhook_attempt attempt on attempt.delivery_id = delivery.id
          where attempt.delivery_id >= ${oldest}::uuid
            and attempt.started_at >= endpoint.failing_since and attempt.outcome <> 'delivered'
          group by delivery.event_id
        )
        select from (select * from failed order by first limit 2) early
          join (select * from failed order by last desc limit 2) late
            on late.event_id <> early.event_id and late.last >= early.first + ${spreadMs} * interval '1 ms')
    returning id, url, organization_id as "organizationId", 'failing' as kind`;
}
