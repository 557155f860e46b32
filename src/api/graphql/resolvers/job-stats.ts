/** Counts and sums of jobs by group, and the numbers of today. */
import { toTypedId } from "../../../core/ids.ts";
import { withAccess } from "../authorize.ts";
import type { JobGroupKey, Resolvers } from "../generated/schema-types.ts";
import { Selection } from "../execution/selection.ts";
import { toOrganizationNode } from "../nodes.ts";
import { checkedFilter } from "./job.ts";

export const statsResolvers: Resolvers = {
  Query: withAccess({
    async jobStats(_root, { filter, groupBy }, context, info) {
      const { principal, services, readerFor } = context;
      const checked = await checkedFilter(context, filter);
      const stats = new Selection(info);
      const group = stats.below("groups");
      const include = {
        groups: stats.has("groups") || stats.has("truncated"),
        pieceQuantity: group.has("pieceQuantity"),
        weight: group.has("weight"),
      };
      const request = { filter: checked, groupBy, include };
      const { jobs } = services;
      const { total, groups, truncated } = await jobs.stats(principal, request, readerFor(principal));
      return {
        total,
        truncated,
        groups: groups.map(({ values, labels, ...sums }) => ({
          ...sums,
          keys: groupBy.map((key, index) => toStatsKey(key, values[index] ?? null, labels[index] ?? null)),
        })),
      };
    },
    async jobsToday(_root, _args, { principal, services, readerFor }) {
      const { day, total, contractors } = await services.jobs.today(principal, readerFor(principal));
      return {
        day,
        total,
        contractors: contractors.map(({ contractorId: id, contractorName: name, ...counts }) => ({
          contractor: id === null ? null : toOrganizationNode({ id, name: name ?? "", type: "contractor" }),
          counts,
        })),
      };
    },
  }),
};

function toStatsKey(key: JobGroupKey, value: string | null, label: string | null) {
  const isOrganization = key === "AGENT" || key === "CONTRACTOR";
  if (value === null) return { key, value, label: null };
  return {
    key,
    value: isOrganization ? toTypedId("org", value) : key === "CATEGORY" ? value.toUpperCase() : value,
    label: label ?? value,
  };
}
