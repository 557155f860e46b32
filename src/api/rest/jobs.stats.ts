/** GET /v1/jobs/stats: counts of jobs, in total and by group. */
import { z } from "zod";
import { type GroupKey, groupKeyProblem, type JobService, type JobStatsGroup } from "../../jobs/api.ts";
import { toTypedId } from "../../core/ids.ts";
import { principalOf } from "../context.ts";
import type { RouteHandler } from "../json.ts";
import { filterParameters, readWithStatus, toJobFilter } from "./jobs.filter.ts";
import { queryReader } from "./parameters.ts";
import { listMeta, listParameter } from "../../operations/schemas.ts";

/** The service's key for each name of REST, which is a field of the job where there is one. */
const groupKeys = {
  normalized_status: "STATUS",
  category: "CATEGORY",
  failure_reason: "FAILURE_REASON",
  scheduled_date: "SCHEDULED_DATE",
  created_day: "CREATED_DAY",
  updated_day: "UPDATED_DAY",
  contractor_id: "CONTRACTOR",
  agent_id: "AGENT",
  batch_number: "BATCH",
  group_code: "GROUP_CODE",
  postal_code: "POSTAL_CODE",
} as const satisfies Record<string, GroupKey>;

type GroupName = keyof typeof groupKeys;
export const groupNames = Object.keys(groupKeys) as GroupName[];
const sumNames = ["piece_quantity", "weight"] as const;

export const statsParameters = z.object({
  group_by: listParameter(groupNames)
    .superRefine((names, context) => {
      const problem = groupKeyProblem(names.map((name) => groupKeys[name]));
      if (problem) context.addIssue({ code: "custom", message: problem.message });
    })
    .optional()
    .meta({
      ...listMeta(groupNames, "enum"),
      maxItems: 2,
      description:
        "One or two keys to group by, separated by commas or as a repeated parameter. By default there is one group of all jobs. " +
        "`category` is the category of the status; days are in UTC.",
      examples: [["normalized_status"]],
    }),
  sums: listParameter(sumNames)
    .optional()
    .meta({
      ...listMeta(sumNames, "enum"),
      description: "Sums to add to each group, separated by commas or as a repeated parameter.",
      examples: [["weight"]],
    }),
  ...filterParameters.shape,
});

const readStatsQuery = queryReader(statsParameters, ["group_by", "sums"]);

export function getJobStats({ jobs }: { jobs: JobService }): RouteHandler {
  return async (request, response) => {
    const url = request.originalUrl;
    const parameters = await readWithStatus(jobs, url, {
      read: () => readStatsQuery(url),
      statusOf: ({ normalized_status }) => normalized_status,
    });
    const { group_by: names = [], sums = [] } = parameters;
    const { total, groups, truncated } = await jobs.stats(principalOf(response), {
      filter: toJobFilter(parameters),
      groupBy: names.map((name) => groupKeys[name]),
      include: {
        groups: true,
        pieceQuantity: sums.includes("piece_quantity"),
        weight: sums.includes("weight"),
      },
    });
    return { data: { total, groups: groups.map((group) => toGroupWire(group, names, sums)), truncated } };
  };
}

function toGroupWire(
  { values, labels, count, pieceQuantity, weight }: JobStatsGroup,
  names: readonly GroupName[],
  sums: readonly (typeof sumNames)[number][],
) {
  return {
    keys: names.map((key, index) => {
      const value = values[index] ?? null;
      const isOrganization = key === "agent_id" || key === "contractor_id";
      if (value === null) return { key, value, label: null };
      return { key, value: isOrganization ? toTypedId("org", value) : value, label: labels[index] ?? value };
    }),
    count,
    ...(sums.includes("piece_quantity") && { piece_quantity: pieceQuantity }),
    ...(sums.includes("weight") && { weight }),
  };
}
