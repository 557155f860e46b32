/** An organisation: an agent, who owns jobs, or a contractor, to whom jobs are assigned. */
import { defineEntity, p, type InferEntity } from "@mikro-orm/postgresql";
import { organizationTypes } from "../platform/principal.ts";

export const Organization = defineEntity({
  name: "Organization",
  tableName: "organization",
  properties: {
    id: p.uuid().primary(),
    name: p.text().unique(),
    type: p.enum(organizationTypes),
    suspendedAt: p.datetime(3).nullable(),
    createdAt: p.datetime(3).defaultRaw("now()"),
  },
});

export type Organization = InferEntity<typeof Organization>;
