/** The reference tables: the codes allowed in `normalized_status` and those suggested for `failure_reason`. */
import { defineEntity, p } from "@mikro-orm/postgresql";

export const statusCategories = [
  "open",
  "in_progress",
  "success",
  "attention",
  "return",
  "cancelled",
] as const;

export const JobStatus = defineEntity({
  name: "JobStatus",
  tableName: "job_status",
  properties: {
    code: p.text().primary(),
    label: p.text(),
    category: p.enum([...statusCategories]),
    isTerminal: p.boolean().default(false),
    position: p.integer(),
  },
});

export const FailureReason = defineEntity({
  name: "FailureReason",
  tableName: "failure_reason",
  properties: {
    code: p.text().primary(),
    label: p.text(),
    appliesToFailed: p.boolean(),
    appliesToOnHold: p.boolean(),
    nextStep: p.enum(["retry", "action", "return"]),
    position: p.integer(),
  },
});
