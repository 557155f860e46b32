/** Example values of the webhook operations: an endpoint, a failed delivery, and its replay. */
import type { z } from "zod";
import { exampleEvents } from "./examples.ts";
import type { deliveryDetailSchema, deliverySchema, endpointSchema } from "../webhooks.schema.ts";

export const exampleEndpoint: z.output<typeof endpointSchema> = {
  id: "whe_01KAJQ8V5N3R7T1YC6GK2D9XWE",
  url: "https://partner.example/webhooks",
  description: "Dispatch board",
  event_types: ["job.assigned", "job.status_changed"],
  headers: [{ name: "X-Api-Key", value: "********" }],
  max_in_flight: 8,
  per_second: 50,
  status: "active",
  disabled_reason: null,
  status_since: "2026-11-21T09:00:12.405Z",
  blocked_until: null,
  is_circuit_open: false,
  failing_since: null,
  pending: 0,
  problem: null,
  secret_created_at: "2026-11-21T09:00:12.405Z",
  previous_secrets_expire_at: [],
  created_by: "key_01KAB7Q3M5E8RZ2C4WFX9TNH6D",
  created_at: "2026-11-21T09:00:12.405Z",
  updated_at: "2026-11-21T09:00:12.405Z",
};

export const exampleSecret = "whsec_d2F5bWFyay1kb2NzLXRlc3QtdmVjdG9yLTMyYnl0ZXM=";

const event = exampleEvents["job.status_changed"];

export const exampleDelivery: z.output<typeof deliverySchema> = {
  id: "dlv_01KAJQZ4T8M2N6R0V4Y7C1F5HK",
  endpoint_id: exampleEndpoint.id,
  event_id: event.id,
  event_type: "job.status_changed",
  marking_number: event.data.job.marking_number,
  origin: "event",
  status: "failed",
  attempt_count: 10,
  outcome: "http_500",
  next_attempt_at: null,
  is_in_flight: false,
  created_at: "2026-11-21T09:15:42.320Z",
  finished_at: "2026-11-24T13:07:31.902Z",
};

export const exampleReplay: z.output<typeof deliverySchema> = {
  ...exampleDelivery,
  id: "dlv_01KATX3PQE7H1K5N9S2W6Z0B4D",
  origin: "replay",
  status: "pending",
  attempt_count: 0,
  outcome: null,
  created_at: "2026-11-24T13:20:05.113Z",
  finished_at: null,
};

export const exampleDeliveryDetail: z.output<typeof deliveryDetailSchema> = {
  ...exampleDelivery,
  status: "delivered",
  attempt_count: 1,
  outcome: "delivered",
  finished_at: "2026-11-21T09:15:42.431Z",
  request_body: JSON.stringify(event),
  attempts: [
    {
      id: "att_01KAJQZ4TB9D3F6J8M1P4S7VYA",
      number: 1,
      started_at: "2026-11-21T09:15:42.344Z",
      duration_ms: 84,
      outcome: "delivered",
      http_status: 204,
      error: null,
      request_headers: [
        { name: "webhook-id", value: event.id },
        { name: "X-Api-Key", value: "********" },
      ],
      response_headers: [{ name: "date", value: "Sat, 21 Nov 2026 09:15:42 GMT" }],
      response_body: "",
    },
  ],
};

export const exampleCursor = "WzEsImRlbGl2ZXJpZXMiLCIwMTlhYTU3ZiJd";
