/**
 * The number of jobs that each organisation sees, per status and per day of creation (UTC). The exact count is the base count
 * plus the deltas. Writes append deltas instead of updating the base, so that writers of one organisation do not block each
 * other; a background task compacts them.
 */
import { defineEntity, p } from "@mikro-orm/postgresql";

const kinds = ["status", "created_day"] as const;

export const JobCounter = defineEntity({
  name: "JobCount",
  tableName: "job_counter",
  properties: {
    organizationId: p.uuid().primary(),
    kind: p.enum(kinds).primary(),
    /** The status, or the day as YYYY-MM-DD. */
    value: p.text().primary(),
    count: p.integer(),
  },
});

export const JobCounterDelta = defineEntity({
  name: "JobCountChange",
  tableName: "job_counter_delta",
  properties: {
    id: p.bigint().primary().autoincrement(),
    organizationId: p.uuid(),
    kind: p.enum(kinds),
    value: p.text(),
    change: p.integer(),
  },
  indexes: [{ name: "job_counter_delta_organization", properties: ["organizationId"] }],
});
