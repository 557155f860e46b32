/** The job of the documentation: a delivery that failed because of a wrong address. Test mode sends it if there is no job. */
import type { JobRow } from "./row.sql.ts";
import type { JobWire } from "./wire.ts";

export const exampleJobFields = {
  batch_number: "B-2026-118",
  group_code: "EAST-2",
  piece_quantity: 3,
  labels: "fragile,cold",
  pts: 12.5,
  weight: 8.25,
  recipient_name: "Harbour Street Bakery",
  recipient_contact: "+1 555 0134",
  delivery_address: "12 Harbour Street, #04-01",
  postal_code: "049315",
  scheduled_date: "2026-11-21",
  instructions: "Leave with the concierge",
  normalized_status: "failed",
  failure_reason: "wrong_incomplete_address",
  scheduled_delivery_date: null,
  scheduled_delivery_pending: true,
  provider_status: "DEX03",
} as const satisfies Partial<JobRow>;

export const exampleJob: JobWire = {
  id: "job_01KAGD2WJ8F9V6BMH0T3S5XQ1N",
  marking_number: "MN-2026-000123",
  ...exampleJobFields,
  created_at: "2026-11-20T06:30:00.000Z",
  updated_at: "2026-11-21T09:15:42.318Z",
  agent: { id: "org_01KA2M8D6R4TX0VQ9ZC7JH3EWB", name: "Harbour Logistics" },
  contractor: { id: "org_01KA2MC5N9W8B3ZT6QH1XR7VFD", name: "Swift Couriers" },
  version: 4,
};

/** The update that results in `exampleJob`. */
export const examplePatch = {
  normalized_status: "failed",
  failure_reason: "wrong_incomplete_address",
  scheduled_delivery_pending: true,
};
