/**
 * How many jobs an organisation sees in each status: base counts, and the changes since, appended beside each write
 * and folded in now and then. Base plus changes is exact at every instant; counters updated in place would make every
 * writer of a busy organisation wait for the one before.
 */
import { defineEntity, p } from "@mikro-orm/postgresql";

export const JobCount = defineEntity({
  name: "JobCount",
  tableName: "job_count",
  properties: {
    organizationId: p.uuid().primary(),
    normalizedStatus: p.text().primary(),
    count: p.integer(),
  },
});

export const JobCountChange = defineEntity({
  name: "JobCountChange",
  tableName: "job_count_change",
  properties: {
    id: p.bigint().primary().autoincrement(),
    organizationId: p.uuid(),
    normalizedStatus: p.text(),
    change: p.integer(),
  },
  indexes: [{ name: "job_count_change_organization", properties: ["organizationId"] }],
});
