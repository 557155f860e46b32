import { describe, expect, it } from "vitest";
import { MAX_LOGGED_BODY_BYTES, redactJson, redactNames } from "../../../src/request-log/redaction.ts";

describe("redactNames", () => {
  it("keeps words, and masks what can be a key, a Marking Number or a part of a value", () => {
    const words = ["status", "filter[status]", "dryRun", "order-by", "created.at"];
    const others = ["wmk_test_4f1c9a52", "MN-2026-000123", "Smith & Sons", "a,b", "x".repeat(33), ""];
    expect(redactNames([...words, ...others])).toEqual([...words, ...others.map(() => "***")]);
  });

  it("keeps at most 20 names", () => {
    expect(redactNames(Array.from({ length: 3_000 }, () => "status"))).toHaveLength(20);
  });
});

describe("redactJson", () => {
  it("keeps allowed job fields and masks personal data, in snake_case and camelCase", () => {
    const kept = {
      marking_number: "MN-1",
      weight: -3,
      scheduled_delivery_pending: true,
      failure_reason: null,
    };
    const personal = {
      recipient_name: "A Person",
      recipientContact: "+1 555 0134",
      delivery_address: "12 Harbour Street",
      deliveryAddress: "12 Harbour Street",
      postal_code: 49315,
      postalCode: "049315",
      instructions: "ring twice",
    };
    const masked = Object.fromEntries(Object.keys(personal).map((name) => [name, "***"]));
    const redacted = redactJson({ jobs: [{ ...kept, ...personal }] }) ?? "";
    expect(JSON.parse(redacted)).toEqual({ jobs: [{ ...kept, ...masked }] });
  });

  it("keeps the members of errors, and of requests to endpoints and keys, that have no personal data", () => {
    const body = {
      which: "failed",
      pending: "send",
      grace_hours: 1,
      doc_url: "https://waymark.example/guide",
    };
    expect(JSON.parse(redactJson(body) ?? "")).toEqual(body);
  });

  // evidence: request-log-masking
  it("masks unknown fields at any depth, such as secrets, passwords and keys", () => {
    const body = {
      password: "a",
      new_password: "b",
      apiKey: "c",
      "x-api-key": "d",
      headers: { authorization: "e", "id-token": "f" },
      secrets: ["g", ["h"]],
      customer: { Phone: 1234567, note: "i" },
      __proto__x: "j",
    };
    const text = redactJson(body) ?? "";
    expect(text.match(/"\*\*\*"/g)).toHaveLength(11);
    expect(text).not.toMatch(/"[a-j]"|1234567/);
  });

  it("masks strings and comments in a GraphQL query", () => {
    const query = `mutation { # for A Person
      updateJob(markingNumber: "MN-1", patch: {recipientName: "A \\" Person", instructions: """ring \\""" "twice" """, weight: 3}) { job { id } }
      revealWebhookSecret(id: "whe_1", password: "not closed`;
    const { query: redacted } = JSON.parse(
      redactJson({ query, variables: { n: "A Person", id: "whe_1" } }) ?? "",
    ) as {
      query: string;
    };
    expect(redacted).toContain(
      'updateJob(markingNumber: "***", patch: {recipientName: "***", instructions: "***", weight: 3})',
    );
    expect(redacted).toContain('password: "***"');
    expect(redacted).not.toMatch(/Person|twice|closed/);
    expect(redactJson({ query, variables: { n: "A Person", id: "whe_1" } })).toContain(
      '{"n":"***","id":"whe_1"}',
    );
  });

  it("masks quoted values in error messages", () => {
    const message = 'Variable "$n" got invalid value "A Person"; Expected type "Int"';
    expect(redactJson({ errors: [{ message, extensions: { code: "BAD_USER_INPUT" } }] })).toBe(
      '{"errors":[{"message":"Variable \\"***\\" got invalid value \\"***\\"; Expected type \\"***\\"","extensions":{"code":"BAD_USER_INPUT"}}]}',
    );
  });

  it("returns at most 4 KiB of whole characters, even for large bodies", () => {
    const wide =
      redactJson({ jobs: Array.from({ length: 100_000 }, () => ({ labels: "ü😀".repeat(50) })) }) ?? "";
    expect(Buffer.byteLength(wide)).toBeLessThanOrEqual(MAX_LOGGED_BODY_BYTES);
    expect(Buffer.byteLength(wide)).toBeGreaterThan(MAX_LOGGED_BODY_BYTES - 8);
    expect(wide).not.toContain("\uFFFD");
    const long = redactJson({ labels: "x".repeat(4_000_000), ["y".repeat(4_000_000)]: 1 }) ?? "";
    expect(long).toHaveLength(MAX_LOGGED_BODY_BYTES);
  });

  it("reads no more of a body with many values than it returns", () => {
    let reads = 0;
    const item = Object.defineProperty({}, "weight", { enumerable: true, get: () => (reads += 1) });
    const jobs = Array.from({ length: 100 }, () => Array.from({ length: 500 }, () => [item, item, item]));
    expect(redactJson({ jobs })).toHaveLength(MAX_LOGGED_BODY_BYTES);
    expect(reads).toBeLessThan(MAX_LOGGED_BODY_BYTES);
  });

  it("masks values nested deeper than 16 levels and escapes characters that PostgreSQL rejects", () => {
    const deep: unknown = JSON.parse("[".repeat(50_000) + "]".repeat(50_000));
    expect(redactJson(deep)).toBe(`${"[".repeat(16)}"***"${"]".repeat(16)}`);
    expect(redactJson({ status: "\u0000\ud800" })).toBe('{"status":"\\u0000\\ud800"}');
  });

  it.each([undefined, null])("returns null for %s", (value) => {
    expect(redactJson(value)).toBeNull();
  });
});
