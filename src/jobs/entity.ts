/**
 * The `job` table: its fixed columns and the editable ones of `jobs/fields.ts`. Raw SQL reads and writes it (`list/`,
 * `update/`), so the properties are named like the columns.
 */
import { defineEntity, p, type InferEntity } from "@mikro-orm/postgresql";
import { Organization } from "../organizations/api.ts";
import { jobFieldColumns } from "./fields.ts";
import { visibilityFilter } from "./visibility.sql.ts";

/** Millisecond precision, like cursors: a finer column would make pages skip or repeat rows. */
const timestamp = () => p.datetime(3).$type<string>().defaultRaw("now()");

export const Job = defineEntity({
  name: "Job",
  tableName: "job",
  properties: {
    id: p.uuid().primary(),
    // Collation "C" lets the unique index serve prefix searches too.
    marking_number: p.text().collation("C").unique(),
    agent_id: () => p.manyToOne(Organization).joinColumn("agent_id").mapToPk(),
    contractor_id: () =>
      p.manyToOne(Organization).joinColumn("contractor_id").mapToPk().nullable().deleteRule("no action"),
    ...jobFieldColumns,
    provider_status: p.text().nullable(),
    // Starts at 1, or at the version floor after a restore (`jobs/version.sql.ts`).
    version: p.integer().defaultRaw("next_version(0)"),
    created_at: timestamp(),
    updated_at: timestamp(),
  },
  filters: { visibleTo: visibilityFilter },
  // Every update pays for every index, so each one serves a filter or an order of the list. The organisation comes
  // first because every partner's query filters by it.
  indexes: [
    { name: "job_agent_created", properties: ["agent_id", "created_at", "id"] },
    { name: "job_contractor_created", properties: ["contractor_id", "created_at", "id"] },
    { name: "job_agent_status", properties: ["agent_id", "normalized_status", "created_at", "id"] },
    { name: "job_contractor_status", properties: ["contractor_id", "normalized_status", "created_at", "id"] },
    { name: "job_agent_updated", properties: ["agent_id", "updated_at", "id"], include: ["created_at"] },
    {
      name: "job_contractor_updated",
      properties: ["contractor_id", "updated_at", "id"],
      include: ["created_at"],
    },
    {
      name: "job_agent_scheduled",
      properties: ["agent_id", "scheduled_date", "id"],
      include: ["created_at"],
    },
    {
      name: "job_contractor_scheduled",
      properties: ["contractor_id", "scheduled_date", "id"],
      include: ["created_at"],
    },
    { name: "job_batch", properties: ["batch_number", "agent_id", "contractor_id"] },
  ],
});

export type Job = InferEntity<typeof Job>;
