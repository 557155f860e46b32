/** Pauses, resumes and deletes endpoints. */
import type { RecordAccessChange } from "../../mail/api.ts";
import type { Database } from "../../platform/postgres/database.ts";
import { AppError } from "../../platform/errors.ts";
import { minUuidAt } from "../../platform/ids.ts";
import { sql } from "../../platform/postgres/sql.ts";
import { recordEndpointEvent } from "./audit.ts";
import { tenantFilter, type WebhookPrincipal } from "../tenant-scope.ts";
import { getEndpoint, type EndpointReadDeps } from "./queries.ts";
import type { EndpointView } from "./view.ts";
import { discardPending, currentUuid } from "../deliveries/discard.ts";

/** On resume: send all deliveries on hold, discard all, or discard those from before `since`. */
export type PendingPolicy = "send" | "discard" | { since: Date };

interface LifecycleDeps extends EndpointReadDeps {
  database: Database;
  notifyWorkers: () => void;
  /** If absent, nothing is recorded in the audit log. */
  recordAccessChange?: RecordAccessChange | undefined;
}

const NOT_DELETED = sql`endpoint.deleted_at is null`;

/** Pauses an active endpoint. A disabled one stays disabled. */
export async function pauseEndpoint(
  deps: LifecycleDeps,
  principal: WebhookPrincipal,
  id: string,
): Promise<EndpointView> {
  const { row } = await getEndpoint(deps, principal, id);
  await deps.database.query(sql`
    update webhook_endpoint endpoint set status = 'paused', status_since = now(), updated_at = now()
    where endpoint.id = ${row.id} and ${tenantFilter(principal)} and ${NOT_DELETED} and status = 'active'`);
  return (await getEndpoint(deps, principal, id)).view;
}

/** Resumes an endpoint after discarding deliveries according to `pendingPolicy`. */
export async function resumeEndpoint(
  deps: LifecycleDeps,
  principal: WebhookPrincipal,
  { id, pendingPolicy }: { id: string; pendingPolicy: PendingPolicy },
): Promise<{ endpoint: EndpointView; discarded: number }> {
  if (typeof pendingPolicy === "object" && Number.isNaN(pendingPolicy.since.getTime()))
    throw new AppError("BadRequestException", "`since` is not a valid time");
  const { row } = await getEndpoint(deps, principal, id);
  let discarded = 0;
  if (pendingPolicy !== "send") {
    discarded = await discardPending(deps.database, {
      endpointId: row.id,
      beforeId:
        pendingPolicy === "discard" ? await currentUuid(deps.database) : minUuidAt(pendingPolicy.since),
      includesInFlight: false,
      endpointCondition: sql`endpoint.status <> 'active' and ${NOT_DELETED}`,
    });
  }
  await deps.database.query(sql`
    update webhook_endpoint endpoint set
      status_since = case when status = 'active' then status_since else now() end,
      status = 'active', disabled_reason = null, blocked_until = null, circuit_step = null, failing_since = null,
      -- A new version, so that results of attempts in flight do not change the endpoint's state.
      version = version + 1, updated_at = now()
    where endpoint.id = ${row.id} and ${tenantFilter(principal)} and ${NOT_DELETED}`);
  deps.notifyWorkers();
  return { endpoint: (await getEndpoint(deps, principal, id)).view, discarded };
}

export async function deleteEndpoint(
  deps: LifecycleDeps,
  principal: WebhookPrincipal,
  id: string,
): Promise<{ discarded: number }> {
  const { row } = await getEndpoint(deps, principal, id);
  await deps.database.transaction(async (tx) => {
    const deleted = await tx.query(sql`
      update webhook_endpoint endpoint set deleted_at = now(), updated_at = now(), version = version + 1
      where endpoint.id = ${row.id} and ${tenantFilter(principal)} and ${NOT_DELETED} returning 1`);
    if (deleted.length > 0)
      await recordEndpointEvent(deps.recordAccessChange, tx, {
        action: "endpoint.deleted",
        endpoint: row,
        by: principal,
      });
  });
  const discarded = await discardPending(deps.database, {
    endpointId: row.id,
    beforeId: await currentUuid(deps.database),
    // Otherwise deliveries in flight would be retried for a deleted endpoint.
    includesInFlight: true,
    endpointCondition: sql`true`,
  });
  return { discarded };
}
