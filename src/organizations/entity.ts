/**
 * An organisation: an agent, who owns jobs, or a contractor, to whom jobs are assigned. A test organisation belongs to a live
 * one and has the same tables, so visibility keeps test data apart as it does the data of two partners.
 */
import { defineEntity, p, type InferEntity } from "@mikro-orm/postgresql";
import { organizationTypes } from "../core/principal.ts";

export const Organization = defineEntity({
  name: "Organization",
  tableName: "organization",
  properties: {
    id: p.uuid().primary(),
    /** Unique among live organisations. */
    name: p.text(),
    type: p.enum(organizationTypes),
    suspendedAt: p.datetime(3).nullable(),
    /** An IANA name. The test organisations have that of their live one. */
    timeZone: p.text().default("UTC"),
    /** True for a live agent whose users may import jobs in the console. */
    canImportJobs: p.boolean().default(false),
    createdAt: p.datetime(3).defaultRaw("now()"),
    /** Uuid of the live organisation that a test organisation belongs to; null for a live one. */
    liveOrganization: () =>
      p
        .manyToOne(Organization)
        .joinColumn("live_organization_id")
        .mapToPk()
        .nullable()
        .deleteRule("no action"),
  },
  uniques: [
    { name: "organization_name", properties: ["name"], where: "live_organization_id is null" },
    { name: "organization_test", properties: ["liveOrganization", "type"] },
  ],
});

export type Organization = InferEntity<typeof Organization>;
