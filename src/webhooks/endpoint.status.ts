/** Pausing, resuming and deleting an endpoint, and what becomes of the deliveries that wait for it. */
import type { KeepAccessAct } from "../accounts/access-notices.service.ts";
import type { Database } from "../platform/database.ts";
import { AppError } from "../platform/errors.ts";
import { firstUuidOf } from "../platform/ids.ts";
import { sql } from "../platform/sql.ts";
import { keepEndpointAct } from "./endpoint.acts.ts";
import { ownedBy, type Caller } from "./caller.ts";
import { getEndpoint, type ReadParts } from "./endpoint.queries.ts";
import type { EndpointView } from "./endpoint.view.ts";
import { discardWaiting, idOfNow } from "./moving.ts";

/** What becomes of what waited: sent, discarded, or discarded but for what happened since. */
export type Held = "send" | "discard" | { since: Date };

interface Parts extends ReadParts {
  database: Database;
  announce: () => void;
  /** Absent: no act is recorded. */
  keepAct?: KeepAccessAct | undefined;
}

const NOT_DELETED = sql`endpoint.deleted_at is null`;

/** One that is disabled sends nothing already, and stays as it is. */
export async function pauseEndpoint(parts: Parts, caller: Caller, id: string): Promise<EndpointView> {
  const { row } = await getEndpoint(parts, caller, id);
  await parts.database.query(sql`
    update webhook_endpoint endpoint set status = 'paused', status_since = now(), updated_at = now()
    where endpoint.id = ${row.id} and ${ownedBy(caller)} and ${NOT_DELETED} and status = 'active'`);
  return (await getEndpoint(parts, caller, id)).view;
}

/** What is not to be sent is discarded first, while nothing is being sent. */
export async function resumeEndpoint(
  parts: Parts,
  caller: Caller,
  { id, held }: { id: string; held: Held },
): Promise<{ endpoint: EndpointView; discarded: number }> {
  if (typeof held === "object" && Number.isNaN(held.since.getTime()))
    throw new AppError("BadRequestException", "The time since which deliveries are to be sent is none");
  const { row } = await getEndpoint(parts, caller, id);
  let discarded = 0;
  if (held !== "send") {
    discarded = await discardWaiting(parts.database, {
      endpointId: row.id,
      beforeId: held === "discard" ? await idOfNow(parts.database) : firstUuidOf(held.since),
      inFlight: false,
      while: sql`endpoint.status <> 'active' and ${NOT_DELETED}`,
    });
  }
  await parts.database.query(sql`
    update webhook_endpoint endpoint set
      status_since = case when status = 'active' then status_since else now() end,
      status = 'active', disabled_reason = null, blocked_until = null, circuit_step = null, failing_since = null,
      -- What is still on its way began before, and says nothing of now.
      version = version + 1, updated_at = now()
    where endpoint.id = ${row.id} and ${ownedBy(caller)} and ${NOT_DELETED}`);
  parts.announce();
  return { endpoint: (await getEndpoint(parts, caller, id)).view, discarded };
}

export async function deleteEndpoint(
  parts: Parts,
  caller: Caller,
  id: string,
): Promise<{ discarded: number }> {
  const { row } = await getEndpoint(parts, caller, id);
  await parts.database.transaction(async (tx) => {
    const deleted = await tx.query(sql`
      update webhook_endpoint endpoint set deleted_at = now(), updated_at = now(), version = version + 1
      where endpoint.id = ${row.id} and ${ownedBy(caller)} and ${NOT_DELETED} returning 1`);
    if (deleted.length > 0)
      await keepEndpointAct(parts.keepAct, tx, { action: "endpoint.deleted", endpoint: row, by: caller });
  });
  const discarded = await discardWaiting(parts.database, {
    endpointId: row.id,
    beforeId: await idOfNow(parts.database),
    // Else it would be tried again for ever.
    inFlight: true,
    while: sql`true`,
  });
  return { discarded };
}
