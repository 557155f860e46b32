/** The operation that counts jobs, in total and by group. */
import { z } from "zod";
import { badRequest, problemIn } from "../../core/errors.ts";
import { toTypedId } from "../../core/ids.ts";
import { restOperation } from "../../operations/operation.ts";
import { count, extensibleEnum, flag, listMeta, listParameter } from "../../operations/schemas.ts";
import type { JobService } from "../service.ts";
import { readJobs } from "../list/operations.ts";
import { filterParameters, toJobFilter } from "../list/parameters.ts";
import { type GroupKey, groupKeyProblem, type JobStatsGroup, MAX_GROUPS } from "./stats.sql.ts";

interface Services {
  readonly jobs: JobService;
}

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

const statsParameters = z.object({
  groupBy: listParameter(groupNames)
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
  ...filterParameters,
});

const statsKey = z
  .object({
    key: extensibleEnum(groupNames, "A key of `group_by`"),
    value: z
      .string()
      .nullable()
      .meta({
        description: "Value that the jobs of the group share; null if they have none",
        examples: ["failed"],
      }),
    label: z
      .string()
      .nullable()
      .meta({
        description: "Display text: the label of a status, the name of an organization, otherwise the value",
        examples: ["Delivery failed"],
      }),
  })
  .meta({ id: "JobStatsKey" });

const sum = (description: string, example: number) =>
  z
    .number()
    .nullable()
    .optional()
    .meta({
      description: `${description}; null if no job has a value. Present if requested in \`sums\``,
      examples: [example],
    });

const statsGroup = z
  .object({
    keys: z.array(statsKey).meta({ description: "Values of the keys, in the order of `group_by`" }),
    count: count("Number of jobs", 12),
    pieceQuantity: sum("Sum of `piece_quantity`", 40),
    weight: sum("Sum of `weight`", 96.5),
  })
  .meta({ id: "JobStatsGroup", description: "The jobs with the same values for all keys of `group_by`." });

const inQuery = problemIn("query");

export const getJobStats = restOperation({
  ...readJobs,
  name: "getJobStats",
  rest: { method: "get", path: "/jobs/stats" },
  input: statsParameters,
  output: z
    .object({
      total: count("Number of matching jobs", 25),
      groups: z
        .array(statsGroup)
        .max(MAX_GROUPS)
        .meta({ description: `The groups, largest first, at most ${MAX_GROUPS.toLocaleString("en")}` }),
      truncated: flag("Whether there are more groups than returned"),
    })
    .meta({ id: "JobStats", description: "Counts of jobs, in total and by group." }),
  text: {
    tag: "Jobs",
    summary: "Count jobs, in total and by group",
    description: `The number of jobs that match all given filters, in total and by the values of up to two keys. Takes the filters of
\`GET /v1/jobs\`.

At most four requests of an organization compute statistics at the same time; others wait.`,
    result: {
      description: "The counts.",
      examples: {
        "Jobs by status": {
          total: 25,
          groups: [
            { keys: [{ key: "normalized_status", value: "completed", label: "Completed" }], count: 18 },
            { keys: [{ key: "normalized_status", value: "failed", label: "Delivery failed" }], count: 7 },
          ],
          truncated: false,
        },
        "All jobs, with their weight": {
          total: 25,
          groups: [{ keys: [], count: 25, weight: 96.5 }],
          truncated: false,
        },
      },
    },
    malformed: [
      {
        summary: "An unknown key",
        problems: [
          inQuery("group_by[0]", "invalid_value", `must be one of ${groupNames.join(", ")}; got "status"`),
        ],
      },
      {
        summary: "Too many keys",
        problems: [inQuery("group_by", "invalid_value", "must have at most 2 keys")],
      },
    ],
  },
  problems: ({ jobs }: Services, { normalizedStatus }) => jobs.statusProblems(normalizedStatus),
  async run({ jobs }, principal, input) {
    const problems = await jobs.statusProblems(input.normalizedStatus);
    if (problems.length > 0) throw badRequest(problems);
    const { groupBy: names = [], sums = [] } = input;
    const { total, groups, truncated } = await jobs.stats(principal, {
      filter: toJobFilter(input),
      groupBy: names.map((name) => groupKeys[name]),
      // The days of REST are in UTC.
      zone: "UTC",
      include: {
        groups: true,
        pieceQuantity: sums.includes("piece_quantity"),
        weight: sums.includes("weight"),
      },
    });
    return { total, groups: groups.map((group) => toGroupView(group, names, sums)), truncated };
  },
});

function toGroupView(
  { values, labels, count: jobs, pieceQuantity, weight }: JobStatsGroup,
  names: readonly GroupName[],
  sums: readonly (typeof sumNames)[number][],
) {
  return {
    keys: names.map((key, index) => {
      const value = values[index] ?? null;
      const isOrganization = value !== null && (key === "agent_id" || key === "contractor_id");
      return { key, value: isOrganization ? toTypedId("org", value) : value, label: labels[index] ?? null };
    }),
    count: jobs,
    ...(sums.includes("piece_quantity") && { pieceQuantity }),
    ...(sums.includes("weight") && { weight }),
  };
}
