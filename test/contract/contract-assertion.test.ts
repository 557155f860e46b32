import { describe, expect, it } from "vitest";
import { exampleRequestId } from "../../src/events/examples.ts";
import { expectToMatchContract } from "../support/app/openapi-contract.ts";

describe("a response checked against the document", () => {
  const headers = { "content-type": "application/json; charset=utf-8", "x-request-id": exampleRequestId };
  const right = {
    path: "/v1/reference/statuses",
    status: 200,
    headers,
    body: { request_id: exampleRequestId, success: true, data: { items: [] as object[] }, error: null },
  };
  const check = ({ path, status, body, headers: given }: typeof right): void =>
    expectToMatchContract("GET", path, { status, headers: new Headers(given), body });

  it("passes if it matches", () => {
    expect(() => check(right)).not.toThrow();
    expect(() => check({ ...right, path: "/beside/v1", status: 302 })).not.toThrow();
  });

  it.each([
    ["another status", { ...right, status: 201 }],
    ["a body of another status", { ...right, status: 401 }],
    ["an additional member in the envelope", { ...right, body: { ...right.body, meta: 1 } }],
    ["a missing member in the data", { ...right, body: { ...right.body, data: { items: [{ code: "x" }] } } }],
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
