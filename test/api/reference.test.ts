import { expect, it } from "vitest";
import { expectData } from "../support/app/assertions.ts";
import { apiDocument } from "../support/app/openapi-contract.ts";
import { useSharedApp } from "../support/app/shared-app.ts";

const { app, agent } = useSharedApp();

const STATUSES = `
pending · Pending · open; at_warehouse · At warehouse · open; scheduled · Scheduled · open; assigned ·
Assigned · open; picked_up · Picked up · in_progress; in_transit · In transit · in_progress;
out_for_delivery · Out for delivery · in_progress; arrived · Arrived · in_progress; ready_for_collection ·
Ready for collection · in_progress; completed · Completed · success · terminal; partially_completed ·
Partially completed · success · terminal; failed · Delivery failed · attention; on_hold · On hold ·
attention; returning · Returning · return; returned · Returned · return · terminal; cancelled · Cancelled ·
cancelled · terminal`;

const REASONS = `
recipient_unavailable F retry; recipient_unreachable FH retry; recipient_refused F return; recipient_moved
F action; business_closed FH retry; reschedule_requested FH retry; verification_failed F retry;
wrong_incomplete_address FH action; address_not_found F action; access_restricted F retry; no_safe_place F
retry; outside_service_area FH return; payment_not_received FH retry; parcel_damaged FH return; parcel_lost
FH return; parcel_missing FH action; wrong_parcel FH action; oversize_overweight FH action;
vehicle_breakdown FH retry; driver_unavailable FH retry; accident FH retry; insufficient_time F retry;
capacity_exceeded F retry; misrouted F retry; missing_proof F action; shipper_cancelled FH return;
shipper_data_incorrect FH action; awaiting_instructions FH action; severe_weather FH retry; road_closure FH
retry; force_majeure FH retry; public_holiday FH retry; customs_hold H action; security_hold H action;
max_attempts_exceeded F return; other FH action; unknown FH action`;

const entriesOf = (text: string, separator: RegExp): string[][] =>
  text.split(";").map((entry) => entry.trim().split(separator));

it("GET /v1/reference/statuses returns every status in order, with code, label, category and is_terminal", async () => {
  const expected = entriesOf(STATUSES, /\s*·\s*/).map(([code, label, category, terminal]) => ({
    code,
    label,
    category,
    is_terminal: terminal === "terminal",
  }));
  expect(expected).toHaveLength(16);
  expect(expectData(await app.call("/v1/reference/statuses", { key: agent.key })).items).toEqual(expected);
});

it.each([
  ["statuses", "Status"],
  ["failure-reasons", "FailureReason"],
])("the OpenAPI document names the codes of a new installation: %s", async (path, schema) => {
  const { items } = expectData(await app.call(`/v1/reference/${path}`, { key: agent.key }));
  const code = apiDocument.components.schemas[schema]?.properties?.["code"];
  expect(code).toMatchObject({ "x-known-values": items.map((item: { code: string }) => item.code) });
});

it("GET /v1/reference/failure-reasons returns every reason in order, with code, applies_to and next_step", async () => {
  const applies: Record<string, string[]> = { F: ["failed"], H: ["on_hold"], FH: ["failed", "on_hold"] };
  const expected = entriesOf(REASONS, /\s+/).map(([code, letters = "", next_step]) => ({
    code,
    label: expect.any(String),
    applies_to: applies[letters],
    next_step,
  }));
  expect(expected).toHaveLength(37);
  expect(expectData(await app.call("/v1/reference/failure-reasons", { key: agent.key })).items).toEqual(
    expected,
  );
});
