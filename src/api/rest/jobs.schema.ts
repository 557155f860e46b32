/** Responses of the look-up and of the statistics of jobs, for OpenAPI and for the contract tests. */
import { z } from "zod";
import { listedJobSchema, MAX_GROUPS } from "../../jobs/api.ts";
import { groupNames } from "./jobs.stats.ts";
import { count, extensibleEnum } from "../../operations/schemas.ts";

export const jobLookupSchema = z
  .object({
    items: z.array(z.union([listedJobSchema, z.null()])).meta({
      description:
        "One entry per Marking Number, in the order of the request: the job, or null if no visible job has it",
    }),
  })
  .meta({ id: "JobLookupResult" });

const statsKeySchema = z
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

const statsGroupSchema = z
  .object({
    keys: z.array(statsKeySchema).meta({ description: "Values of the keys, in the order of `group_by`" }),
    count: count("Number of jobs", 12),
    piece_quantity: sum("Sum of `piece_quantity`", 40),
    weight: sum("Sum of `weight`", 96.5),
  })
  .meta({ id: "JobStatsGroup", description: "The jobs with the same values for all keys of `group_by`." });

export const jobStatsSchema = z
  .object({
    total: count("Number of matching jobs", 25),
    groups: z
      .array(statsGroupSchema)
      .max(MAX_GROUPS)
      .meta({ description: `The groups, largest first, at most ${MAX_GROUPS.toLocaleString("en")}` }),
    truncated: z.boolean().meta({ description: "Whether there are more groups than returned" }),
  })
  .meta({ id: "JobStats", description: "Counts of jobs, in total and by group." });
