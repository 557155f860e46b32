/** Pure functions of the Integrations pages. */
import { describe, expect, it } from "vitest";
import { userErrorsByField, UserErrorsError } from "../../../src/console/app/api/user-errors.ts";
import {
  deliveriesVariables,
  parseDeliveriesSearch,
} from "../../../src/console/pages/integrations/deliveries/deliveries.search.ts";
import {
  endpointInput,
  endpointPatch,
  validateEndpoint,
  emptyEndpointValues,
  toEndpointValues,
} from "../../../src/console/pages/integrations/endpoints/form/form-values.ts";
import { describeHealth } from "../../../src/console/pages/integrations/endpoints/endpoint.health.ts";
import {
  cidrsErrorMessage,
  keyInput,
  validateKey,
  emptyKeyValues,
  parseRanges,
} from "../../../src/console/pages/integrations/keys/key.form.ts";
import {
  outcomeLabel,
  deliveryStatusOf,
} from "../../../src/console/pages/integrations/deliveries/delivery-status.ts";
import { errorLabel } from "../../../src/console/pages/integrations/requests/error-hints.ts";
import { formatBody } from "../../../src/console/pages/integrations/formatting.ts";
import {
  requestsVariables,
  parseRequestsSearch,
} from "../../../src/console/pages/integrations/requests/requests.search.ts";
import { keySnippets } from "../../../src/console/pages/integrations/keys/request-snippets.ts";
import {
  usageByDay,
  usageByKey,
  aggregateUsage,
} from "../../../src/console/pages/integrations/usage/usage.aggregates.ts";

const NOW = Date.parse("2026-11-21T12:00:00Z");

const statusLabelOf = (part: object) =>
  deliveryStatusOf({ status: "PENDING", isInFlight: false, attemptCount: 0, ...part }).label;

describe("a new key", () => {
  it("has an expiry time, and ranges if any are given", () => {
    const values = {
      ...emptyKeyValues,
      name: " Warehouse ",
      lifetime: "30" as const,
      cidrs: "203.0.113.0/24,\n198.51.100.7 2001:db8::1",
    };
    expect(keyInput(values, NOW)).toEqual({
      name: "Warehouse",
      scopes: ["JOBS_READ", "JOBS_WRITE"],
      mode: "LIVE",
      expiresAt: "2026-12-21T12:00:00.000Z",
      cidrs: ["203.0.113.0/24", "198.51.100.7/32", "2001:db8::1/128"],
    });
    expect(parseRanges(" \n ,")).toBeNull();
  });

  it("never expires, or expires at the end of a day", () => {
    expect(keyInput({ ...emptyKeyValues, lifetime: "never" }, NOW).expiresAt).toBeNull();
    const { expiresAt } = keyInput({ ...emptyKeyValues, lifetime: "day", lastDay: "2026-12-01" }, NOW);
    expect(new Date(expiresAt as string).toString()).toContain("Dec 01 2026 23:59:59");
  });

  it("requires a name, a scope and a future date", () => {
    const wrong = { ...emptyKeyValues, scopes: [], lifetime: "day" as const, lastDay: "" };
    expect(Object.keys(validateKey(wrong, NOW))).toEqual(["name", "scopes", "lastDay"]);
    expect(
      validateKey({ ...emptyKeyValues, name: "A", lifetime: "day", lastDay: "2026-11-19" }, NOW),
    ).toHaveProperty("lastDay");
    expect(
      validateKey({ ...emptyKeyValues, name: "A", lifetime: "day", lastDay: "2026-11-23" }, NOW),
    ).toEqual({});
  });

  it("names the line of an invalid range", () => {
    const text = "203.0.113.0/24\n\n198.51.100.7 nonsense";
    expect(cidrsErrorMessage("cidrs.2 must be a CIDR range", text)).toBe(
      "Line 3: enter an IP address or range such as 203.0.113.0/24",
    );
    expect(cidrsErrorMessage("must be a list of 1 to 100 ranges", text)).toContain("1 to 100");
  });

  it("comes with example requests that its scopes allow", () => {
    const options = { toUrl: (path: string) => `https://example.com/base/${path}`, key: "wmk_abc" };
    const ids = (scopes: Parameters<typeof keySnippets>[0]["scopes"]) =>
      keySnippets({ ...options, scopes }).map(({ id, code }) => `${id}: ${code}`);
    const [curl, graphql, javascript] = ids(["JOBS_READ"]);
    expect(curl).toBe(
      'curl: curl -H "x-api-key: wmk_abc" \\\n  "https://example.com/base/v1/jobs?page_size=2"',
    );
    expect(graphql).toContain(
      '-d \'{"query":"{ jobs(first: 2) { nodes { markingNumber normalizedStatus } } }"}\'',
    );
    expect(javascript).toContain('fetch("https://example.com/base/v1/jobs?page_size=2"');
    expect(ids(["JOBS_WRITE"])[0]).toContain("dry_run=true");
    expect(ids(["WEBHOOKS_MANAGE"])).toEqual([expect.stringContaining("{ viewer { kind scopes } }")]);
  });
});

describe("an endpoint's form", () => {
  const endpoint = {
    url: "https://a.example/",
    description: "A",
    eventTypes: null,
    maxInFlight: 8,
    perSecond: 50,
  };

  it("sends only changed settings", () => {
    const values = toEndpointValues(endpoint);
    expect(endpointPatch(values, endpoint)).toEqual({});
    expect(endpointPatch({ ...values, perSecond: "60" }, endpoint)).toEqual({ perSecond: 60 });
    expect(endpointPatch({ ...values, events: "selected", eventTypes: ["JOB_CREATED"] }, endpoint)).toEqual({
      eventTypes: ["JOB_CREATED"],
    });
  });

  it("keeps headers unless they are replaced, and drops empty rows", () => {
    const values = toEndpointValues(endpoint);
    expect(endpointPatch({ ...values, headers: [] }, endpoint)).toEqual({ headers: [] });
    const headers = [
      { rowId: "1", name: "X-Api-Key ", value: "a" },
      { rowId: "2", name: "", value: "" },
    ];
    expect(endpointInput({ ...emptyEndpointValues, url: "https://a.example", headers })).toMatchObject({
      eventTypes: null,
      headers: [{ name: "X-Api-Key", value: "a" }],
    });
  });

  it("validates before sending", () => {
    const wrong = {
      ...emptyEndpointValues,
      url: "a.example/x",
      events: "selected" as const,
      maxInFlight: "",
      perSecond: 1_001,
    };
    expect(Object.keys(validateEndpoint(wrong))).toEqual(["url", "eventTypes", "maxInFlight", "perSecond"]);
    expect(validateEndpoint({ ...emptyEndpointValues, url: "javascript:alert(1)" })).toHaveProperty("url");
    expect(validateEndpoint({ ...emptyEndpointValues, url: " https://a.example/x " })).toEqual({});
  });
});

describe("an endpoint's health", () => {
  const healthy = {
    id: "whe_1",
    status: "ACTIVE" as const,
    disabledReason: null,
    statusSince: "2026-11-01T00:00:00.000Z",
    blockedUntil: null,
    isCircuitOpen: false,
    failingSince: null,
    pending: 0,
    problem: null,
  };
  const later = "2026-11-21T12:05:00.000Z";
  const labelOf = (part: Partial<typeof healthy> | object) =>
    describeHealth({ ...healthy, ...part }, NOW).label;

  it("shows the most severe problem, and no block that has ended", () => {
    expect(labelOf({})).toBe("Active");
    expect(labelOf({ blockedUntil: "2026-11-21T11:59:59.000Z" })).toBe("Active");
    expect(labelOf({ failingSince: "2026-11-21T11:00:00.000Z" })).toBe("Failing");
    expect(labelOf({ failingSince: later, blockedUntil: later })).toBe("Throttled");
    expect(labelOf({ isCircuitOpen: true, blockedUntil: later })).toBe("Backing off");
    expect(labelOf({ isCircuitOpen: true, problem: "No secret" })).toBe("Can’t sign");
    expect(labelOf({ status: "PAUSED", problem: "No secret" })).toBe("Paused");
    expect(labelOf({ status: "DISABLED", disabledReason: "GONE" })).toBe("Disabled");
  });
});

describe("filters in the URL", () => {
  it("become query variables, and invalid values are dropped", () => {
    const search = parseDeliveriesSearch({
      status: "failed",
      event: "job.status_changed",
      marking_number: " WM-1 ",
      endpoint: "",
    });
    expect(deliveriesVariables(search, NOW)).toEqual({
      endpointId: undefined,
      status: "FAILED",
      eventType: "JOB_STATUS_CHANGED",
      markingNumber: "WM-1",
    });
    const recent = parseDeliveriesSearch({
      response: "http_5xx",
      time: "hour",
      status: "retrying",
      from: "soon",
    });
    expect(deliveriesVariables(recent, NOW)).toMatchObject({
      status: "RETRYING",
      httpClass: "HTTP_5XX",
      since: "2026-11-21T11:00:00.000Z",
    });
    const range = parseDeliveriesSearch({ time: "custom", from: "2026-11-21T08:00", to: "2026-11-21T09:00" });
    expect(deliveriesVariables(range, NOW)).toMatchObject({
      since: new Date("2026-11-21T08:00").toISOString(),
      until: new Date("2026-11-21T09:00").toISOString(),
    });
    const empty = { ...range, to: "2026-11-21T08:00" };
    expect(deliveriesVariables(empty, NOW).until).toBeUndefined();
    expect(parseDeliveriesSearch({ status: "FAILED", event: "JOB_CREATED" })).toMatchObject({
      status: undefined,
      event: undefined,
    });
    expect(
      requestsVariables(
        parseRequestsSearch({ outcome: "refused", key: "key_01JD0000000000000000000001", open: "req_1" }),
      ),
    ).toEqual({
      requestId: undefined,
      outcome: "REFUSED",
      keyId: "key_01JD0000000000000000000001",
    });
  });
});

function usageRow(day: string, keyId: string, counts: [number, number, number], meanDurationMs: number) {
  const [succeeded, refused, failed] = counts;
  return { day, keyId, keyName: null, succeeded, refused, failed, meanDurationMs };
}

describe("usage", () => {
  const rows = [
    usageRow("2026-11-20", "key_1", [3, 1, 0], 10),
    usageRow("2026-11-20", "key_2", [4, 0, 2], 40),
    usageRow("2026-11-21", "key_1", [6, 0, 0], 20),
  ];

  it("is summed by day, including days without requests, and by key", () => {
    expect(usageByDay(rows, 3, NOW).map(({ day, total }) => [day, total])).toEqual([
      ["2026-11-19", 0],
      ["2026-11-20", 10],
      ["2026-11-21", 6],
    ]);
    expect(usageByKey(rows).map(({ keyId, total }) => [keyId, total])).toEqual([
      ["key_1", 10],
      ["key_2", 6],
    ]);
  });

  it("weights mean durations by request count", () => {
    expect(aggregateUsage(rows).meanDurationMs).toBe((4 * 10 + 6 * 40 + 6 * 20) / 16);
    expect(aggregateUsage([]).meanDurationMs).toBeNull();
  });
});

describe("labels", () => {
  it("describe outcomes and delivery statuses", () => {
    expect(outcomeLabel("http_503")).toBe("HTTP 503");
    expect(outcomeLabel("of_tomorrow")).toBe("of_tomorrow");
    expect([
      statusLabelOf({}),
      statusLabelOf({ attemptCount: 1 }),
      statusLabelOf({ isInFlight: true }),
      statusLabelOf({ status: "FAILED" }),
    ]).toEqual(["Pending", "Retrying", "Sending", "Failed"]);
  });

  it("describe error codes", () => {
    expect(errorLabel("BadRequestException")).toBe("Bad request");
    expect(errorLabel("TooManyRequestsException")).toBe("Too many requests");
  });

  it("show JSON pretty-printed and other bodies unchanged", () => {
    expect(formatBody('{"a":1}')).toBe('{\n  "a": 1\n}');
    expect(formatBody("{cut")).toBe("{cut");
  });

  it("of user errors go to the field that they are about", () => {
    const error = new UserErrorsError([
      { field: "input.name", message: "name must not be empty" },
      { field: "patch.headers.Host", message: "headers.Host cannot be set" },
      { field: "id", message: "There is no such key" },
    ]);
    expect(userErrorsByField(error, { name: "", headers: [] })).toEqual({
      name: "Must not be empty",
      headers: "headers.Host cannot be set",
      id: "There is no such key",
    });
    expect(userErrorsByField(new Error("other"), { name: "" })).toEqual({});
  });
});
