/**
 * How many jobs an organisation sees, in each status and of each day of creation (UTC): base counts, and the changes since,
 * appended beside each write and folded in now and then. Base plus changes is exact at every instant; counters updated in
 * place would make every writer of a busy organisation wait for the one before.
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
