import { describe, expect, it } from "vitest";
import { contract } from "../support/app/openapi-contract.ts";

const { components } = contract;

/** The Job object of the contract: its members in order, with their schemas. */
const text = (maxLength: number) => ({ type: ["string", "null"], maxLength });
const date = { type: ["string", "null"], format: "date" };
const number = { type: ["number", "null"] };
const contractJob: Record<string, object> = {
  id: { type: "string" },
  marking_number: { type: "string", maxLength: 120 },
  batch_number: text(120),
  group_code: text(120),
  piece_quantity: { type: ["integer", "null"], minimum: 1 },
  labels: text(255),
  pts: number,
  weight: number,
  recipient_name: text(255),
  recipient_contact: text(255),
  delivery_address: text(1000),
  postal_code: text(60),
  scheduled_date: date,
  instructions: text(1000),
  normalized_status: { type: "string" },
  failure_reason: text(64),
  scheduled_delivery_date: date,
  scheduled_delivery_pending: { type: "boolean" },
  provider_status: { type: ["string", "null"] },
  created_at: { type: "string", format: "date-time" },
  updated_at: { type: "string", format: "date-time" },
};
const readOnly = new Set(["id", "marking_number", "provider_status", "created_at", "updated_at"]);

describe("the document", () => {
  it("has the 21 members of Job, in order, with types and limits, and three more", () => {
    const { properties = {}, required, ...rest } = components.schemas["Job"] ?? {};
    const names = [...Object.keys(contractJob), "agent", "contractor", "version"];
    expect(Object.keys(properties)).toEqual(names);
    expect(required).toEqual(names);
    expect(properties).toMatchObject(contractJob);
    expect(rest).not.toHaveProperty("additionalProperties");
    expect(names).toHaveLength(24);
  });

  it("allows exactly the 16 editable fields in a patch, none required", () => {
    const editable = Object.keys(contractJob).filter((name) => !readOnly.has(name));
    const { JobPatch, BatchItem, BatchUpdate } = components.schemas;
    expect(Object.keys(JobPatch?.properties ?? {})).toEqual(editable);
    expect(JobPatch).not.toHaveProperty("required");
    expect(JobPatch).toMatchObject({ minProperties: 1 });
    expect(Object.keys(BatchItem?.properties ?? {})).toEqual(["marking_number", "if_version", ...editable]);
    expect(BatchItem?.required).toEqual(["marking_number"]);
    expect(BatchUpdate?.properties?.["jobs"]).toMatchObject({ minItems: 1, maxItems: 100 });
    for (const name of editable)
      expect(JobPatch?.properties?.[name]).toMatchObject(contractJob[name] as object);
  });
});
