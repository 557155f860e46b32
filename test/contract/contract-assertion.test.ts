import { describe, expect, it } from "vitest";
import { exampleRequestId } from "../../src/events/examples.ts";
import { expectToMatchContract } from "../support/app/openapi-contract.ts";

const bodyWith = (data: object) => ({ request_id: exampleRequestId, success: true, data, error: null });

describe("a response checked against the document", () => {
  const headers = { "content-type": "application/json; charset=utf-8", "x-request-id": exampleRequestId };
  const status = { code: "failed", label: "Delivery failed", category: "attention", is_terminal: false };
  const right = {
    path: "/v1/reference/statuses",
    status: 200,
    headers,
    body: bodyWith({ items: [status] }),
  };
  const check = ({ path, headers: given, ...response }: typeof right): void =>
    expectToMatchContract("GET", path, { ...response, headers: new Headers(given) });

  it("passes if it matches", () => {
    expect(() => check(right)).not.toThrow();
    expect(() => check({ ...right, path: "/beside/v1", status: 302 })).not.toThrow();
  });

  it.each([
    ["another status", { ...right, status: 201 }],
    ["a body of another status", { ...right, status: 401 }],
    // The published schemas allow new members and codes.
    ["an additional member in the envelope", { ...right, body: { ...right.body, meta: 1 } }],
    ["an additional member in the data", { ...right, body: bodyWith({ items: [], more: 1 }) }],
    ["an additional member in an item", { ...right, body: bodyWith({ items: [{ ...status, more: 1 }] }) }],
    ["a new code", { ...right, body: bodyWith({ items: [{ ...status, category: "new" }] }) }],
    ["a missing member in the data", { ...right, body: bodyWith({ items: [{ code: "x" }] }) }],
    ["another content type", { ...right, headers: { ...headers, "content-type": "text/html" } }],
    ["a missing header", { ...right, headers: { ...headers, "x-request-id": undefined } }],
    ["an undeclared header", { ...right, headers: { ...headers, etag: '"1"' } }],
    ["a success of an undeclared path", { ...right, path: "/v1/nothing" }],
  ])("fails for %s", (_, { headers: given, ...wrong }) => {
    const present = Object.entries(given).filter(([, value]) => value !== undefined);
    expect(() => check({ ...wrong, headers: Object.fromEntries(present) } as typeof right)).toThrow(
      /must match the OpenAPI document/,
    );
  });
});
