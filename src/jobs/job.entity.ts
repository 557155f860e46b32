/**
 * A delivery job: its fixed columns and the editable ones of `job.fields.ts`. It is read and written as rows
 * (`job.queries.ts`, `job.update.ts`), so its properties carry the names of the contract and of the columns.
 */
import { defineEntity, p, type InferEntity } from "@mikro-orm/postgresql";
import { Organization } from "../organizations/api.ts";
import { jobFieldColumns } from "./job.fields.ts";

/** Milliseconds: a cursor holds no more, so finer columns would lose or repeat rows. */
const timestamp = () => p.datetime(3).$type<string>().defaultRaw("now()");

export const Job = defineEntity({
  name: "Job",
  tableName: "job",
  properties: {
    id: p.uuid().primary(),
    // "C": exact, and its index serves prefixes too.
    marking_number: p.text().collation("C").unique(),
    agent_id: () => p.manyToOne(Organization).joinColumn("agent_id").mapToPk(),
    contractor_id: () =>
      p.manyToOne(Organization).joinColumn("contractor_id").mapToPk().nullable().deleteRule("no action"),
    ...jobFieldColumns,
    provider_status: p.text().nullable(),
    // 1, and after a restore as `job.version.service.ts` says.
    version: p.integer().defaultRaw("next_version(0)"),
    created_at: timestamp(),
    updated_at: timestamp(),
  },
  // Each index is paid for by every update, so there are only those that a filter or an order of the list needs. They
  // lead with the organisation, which is always asked for.
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
