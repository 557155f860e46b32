/** How many jobs, by groups. */
import { jobStats, type GroupKey } from "../../jobs/job.stats.ts";
import { toTypedId } from "../../platform/ids.ts";
import { allowed } from "../access.ts";
import type { JobGroupKey, QueryResolvers } from "../generated/schema-types.ts";
import { selectedBelow } from "../selection.ts";
import { checkedCondition } from "./job.ts";

export const statsQueries: Pick<QueryResolvers, "jobStats"> = {
  async jobStats(_root, { filter, groupBy }, context, info) {
    const viewer = allowed(context, "jobs:read");
    const condition = await checkedCondition(context, filter);
    const stats = selectedBelow(info);
    const group = selectedBelow(info, stats.get("groups") ?? []);
    const include = {
      groups: stats.has("groups") || stats.has("truncated"),
      pieceQuantity: group.has("pieceQuantity"),
      weight: group.has("weight"),
    };
    const request = { condition, groupBy: groupBy as readonly GroupKey[], include };
    const turn = viewer.organizationId ?? viewer.actor.id ?? "";
    const { total, groups, truncated } = await context.statsTurns(turn, () =>
      jobStats(context.readsOf(viewer), viewer, request),
    );
    return {
      total,
      truncated,
      groups: groups.map(({ values, labels, ...sums }) => ({
        ...sums,
        keys: groupBy.map((key, at) => keyOf(key, values[at] ?? null, labels[at] ?? null)),
      })),
    };
  },
};

function keyOf(key: JobGroupKey, value: string | null, label: string | null) {
  const isOrganization = key === "AGENT" || key === "CONTRACTOR";
  if (value === null) return { key, value, label: null };
  return {
    key,
    value: isOrganization ? toTypedId("org", value) : key === "CATEGORY" ? value.toUpperCase() : value,
    label: label ?? value,
  };
}
