/** Delivery jobs as REST returns them, as zod. */
import { z } from "zod";
import { problemIn } from "../core/errors.ts";
import { dateTime, idSchema, inRestForm, wholeNumber } from "../operations/schemas.ts";
import { type JobFieldName, jobFieldNames, jobFields } from "./fields.ts";
import { markingNumberValue } from "./values.ts";
import type { JobWire } from "./wire.ts";

type FieldValues = { [Name in JobFieldName]: (typeof jobFields)[Name]["value"] };

const fieldValues = Object.fromEntries(
  jobFieldNames.map((name) => [name, jobFields[name].value]),
) as FieldValues;

export const jobMarkingNumber = markingNumberValue.meta({
  minLength: 1,
  description: "Marking Number: unique in the whole service, case-sensitive",
  examples: ["MN-2026-000123"],
});

export const markingNumberPath = z.object({
  markingNumber: markingNumberValue.meta({
    minLength: 1,
    description: "Marking Number, percent-encoded (`/` as `%2F`). The match is exact and case-sensitive.",
    examples: ["MN-2026-000123"],
  }),
});

/** The example of a path without one. */
export const noMarkingNumber = {
  summary: "No Marking Number",
  problems: [problemIn("path")("markingNumber", "invalid_value", "must not be empty")],
  message: "The Marking Number must not be empty",
};

const organization = z
  .object({
    id: idSchema("org", "Organization ID", "org_01KA2M8D6R4TX0VQ9ZC7JH3EWB"),
    name: z
      .string()
      .nullable()
      .meta({
        description: "Name of the organization; null in events of an older version of the service",
        examples: ["Harbour Logistics"],
      }),
  })
  .meta({ id: "JobOrganization", description: "An organization that a delivery job belongs to." });

export const jobSchema = inRestForm(
  z
    .object({
      id: idSchema("job", "Delivery job ID", "job_01KAGD2WJ8F9V6BMH0T3S5XQ1N"),
      marking_number: jobMarkingNumber,
      ...fieldValues,
      provider_status: z
        .string()
        .nullable()
        .meta({ description: "Current provider status value", examples: ["DEX03"] }),
      created_at: dateTime("Creation timestamp", "2026-11-20T06:30:00.000Z"),
      updated_at: dateTime("Last update timestamp", "2026-11-21T09:15:42.318Z"),
      agent: organization,
      contractor: z.union([organization, z.null()]).meta({ description: "Null: no contractor has the job" }),
      version: wholeNumber(1, "Version of the job; send it in quotes as `If-Match`", 4),
    })
    .meta({ id: "Job", description: "A delivery job." }) satisfies z.ZodType<JobWire>,
);
