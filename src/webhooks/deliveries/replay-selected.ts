/** Replays selected deliveries, each with its own result. */
import { partnerIdOf } from "../../organizations/api.ts";
import type { AppError } from "../../core/errors.ts";
import { fromTypedId, toTypedId } from "../../core/ids.ts";
import type { InTransaction } from "../../core/postgres/transaction.ts";
import { forPrincipal } from "../endpoints/find.ts";
import { WebhookEndpoint } from "../endpoints/entity.ts";
import type { LoadedEndpoint } from "../endpoints/view.ts";
import { recordEndpointChange, type EndpointChangeRecorder } from "../endpoints/record-change.ts";
import type { WebhookPrincipal } from "../webhook-principal.ts";
import { findDeliveriesById, findDeliveryRows } from "./log-lookups.sql.ts";
import { noSuchDelivery } from "./log-pages.sql.ts";
import type { ReplayLimit } from "./replay-limit.ts";
import { inFlightRefusal, replayByIds, type ReplayDeps, replayRefusal } from "./replay.sql.ts";
import type { DeliveryView } from "./view.ts";

/** `id` is the typed id of the original. */
export type SelectedReplay = { readonly id: string } & (
  | { readonly delivery: DeliveryView; readonly error: null }
  | { readonly delivery: null; readonly error: AppError }
);

export interface SelectedReplayDeps extends ReplayDeps, EndpointChangeRecorder, InTransaction {
  /** Absent: the replays don't count towards the rate of the partner. */
  limit?: ReplayLimit;
}

/** Returns a result for each distinct typed id, in their order, after a constant number of statements on deliveries. */
export async function replaySelected(
  deps: SelectedReplayDeps,
  principal: WebhookPrincipal,
  ids: readonly string[],
): Promise<SelectedReplay[]> {
  const database = deps.tx ?? deps.database;
  const uuids = ids.flatMap((id) => fromTypedId("dlv", id) ?? []);
  const rows = await findDeliveryRows(database, principal, uuids);
  const refusals = new Map(rows.map((row) => [row.id, replayRefusal(row)]));
  const accepted = rows.filter(({ id }) => refusals.get(id) === null);
  const endpoints: LoadedEndpoint[] = await forPrincipal(database.em(), principal).find(
    WebhookEndpoint,
    { id: { $in: [...new Set(accepted.map(({ endpointId }) => endpointId))] } },
    { populate: ["organization"] },
  );
  const countOf = (of: readonly LoadedEndpoint[]): number =>
    accepted.filter(({ endpointId }) => of.some(({ id }) => id === endpointId)).length;
  for (const [partnerId, of] of Map.groupBy(endpoints, ({ organization }) => partnerIdOf(organization)))
    await deps.limit?.run(partnerId, async (reserve) => reserve(countOf(of)));
  const created = await replayByIds(
    deps,
    accepted.map(({ id }) => id),
  );
  for (const endpoint of endpoints) {
    const deliveries = accepted
      .filter(({ id, endpointId }) => endpointId === endpoint.id && created.has(id))
      .map(({ id }) => toTypedId("dlv", id));
    if (deliveries.length === 0) continue;
    const details = deliveries.length === 1 ? { delivery: deliveries[0] } : { deliveries };
    const change = { action: "endpoint.replayed", endpoint, details } as const;
    await recordEndpointChange(deps, database, principal, change);
  }
  const views = await findDeliveriesById(database, principal, [...created.values()]);
  const viewsById = new Map(views.map((view) => [view.id, view]));
  return [...new Set(ids)].map((id): SelectedReplay => {
    const uuid = fromTypedId("dlv", id) ?? "";
    const replayId = created.get(uuid);
    const delivery = replayId === undefined ? undefined : viewsById.get(toTypedId("dlv", replayId));
    if (delivery) return { id, delivery, error: null };
    const refusal = refusals.get(uuid);
    return {
      id,
      delivery: null,
      error: refusal === undefined ? noSuchDelivery() : (refusal ?? inFlightRefusal()),
    };
  });
}
