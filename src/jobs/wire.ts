/** Converts job rows to the JSON of the contract, with the fields in the contract's order, and further ones after them. */
import { toTypedId } from "../core/ids.ts";
import { toIsoTime } from "../core/time.ts";
import { type OrganizationWire, rememberedOrganization } from "./organization-names.sql.ts";
import type { JobRow } from "./row.sql.ts";

export type JobWire = Omit<JobRow, "agent_id" | "agent_name" | "contractor_id" | "contractor_name"> & {
  readonly agent: OrganizationWire;
  readonly contractor: OrganizationWire | null;
};

export function toJobWire(row: JobRow): JobWire {
  return {
    id: toTypedId("job", row.id),
    marking_number: row.marking_number,
    batch_number: row.batch_number,
    group_code: row.group_code,
    piece_quantity: row.piece_quantity,
    labels: row.labels,
    pts: row.pts,
    weight: row.weight,
    recipient_name: row.recipient_name,
    recipient_contact: row.recipient_contact,
    delivery_address: row.delivery_address,
    postal_code: row.postal_code,
    scheduled_date: row.scheduled_date,
    instructions: row.instructions,
    normalized_status: row.normalized_status,
    failure_reason: row.failure_reason,
    scheduled_delivery_date: row.scheduled_delivery_date,
    scheduled_delivery_pending: row.scheduled_delivery_pending,
    provider_status: row.provider_status,
    created_at: toIsoTime(row.created_at),
    updated_at: toIsoTime(row.updated_at),
    agent: toOrganizationWire(row.agent_id, row.agent_name),
    contractor:
      row.contractor_id === null ? null : toOrganizationWire(row.contractor_id, row.contractor_name),
    version: row.version,
  };
}

/** The remembered form saves encoding two IDs per job, unless an event has an older name. */
function toOrganizationWire(id: string, name: string | null = null): OrganizationWire {
  const known = rememberedOrganization(id);
  return known?.name === name ? known : { id: toTypedId("org", id), name };
}
