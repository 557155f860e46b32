/** The REST operations of webhooks: each documented status, isolation of organisations, and Idempotency-Key. */
import { beforeAll, describe, expect, it } from "vitest";
import { sql } from "../../src/core/postgres/sql.ts";
import { sharedApp, type SharedApp } from "../support/app/shared-app.ts";
import type { ApiResponse } from "../support/app/app-instance.ts";
import { expectFailure, expectProblems } from "../support/app/assertions.ts";
import { contract, type Operation } from "../support/app/openapi-contract.ts";
import { snapshotOf } from "../support/app/organization-snapshot.ts";
import { setUpWebhooks, type WebhookFixture } from "../support/webhooks/webhook-parity.fixture.ts";

interface Sample {
  success: 200 | 201;
  body?: object;
  /** Requests that are malformed, by what is wrong: another body, another query, or other headers. */
  malformed?: Record<
    string,
    { body?: object; query?: string; headers?: Record<string, string>; fields: string[] }
  >;
}

const URL = "http://127.0.0.1:9/webhooks";
const ONE = "/v1/webhook-endpoints/{id}";
const badKey = {
  "a malformed Idempotency-Key": { headers: { "idempotency-key": "two words" }, fields: ["Idempotency-Key"] },
};

const samples: Record<string, Sample> = {
  "GET /v1/webhook-endpoints": { success: 200 },
  "POST /v1/webhook-endpoints": {
    success: 201,
    body: { url: URL },
    malformed: {
      ...badKey,
      "no URL": { body: {}, fields: ["url"] },
      "several problems": {
        body: {
          url: "ftp://partner.example",
          description: 5,
          event_types: ["job.create"],
          headers: [{ name: "X-A", value: "1" }, { name: "X-A", value: "1" }, { name: "X-B" }],
          max_in_flight: 1.5,
          per_second: 0,
        },
        fields: ["url", "description", "event_types[0]", "headers[2].value", "max_in_flight", "per_second"],
      },
    },
  },
  [`GET ${ONE}`]: { success: 200 },
  [`PATCH ${ONE}`]: {
    success: 200,
    body: { description: "changed" },
    malformed: {
      "null for settings that have a value": {
        body: { url: null, max_in_flight: null, per_second: null },
        fields: ["url", "max_in_flight", "per_second"],
      },
    },
  },
  [`DELETE ${ONE}`]: { success: 200 },
  [`POST ${ONE}/rotate-secret`]: { success: 200, malformed: badKey },
  [`POST ${ONE}/pause`]: { success: 200 },
  [`POST ${ONE}/resume`]: {
    success: 200,
    body: { pending: "send" },
    malformed: {
      "an unknown policy": { body: { pending: "keep" }, fields: ["pending"] },
      "since with discard": {
        body: { pending: "discard", since: "2026-11-21T08:00:00Z" },
        fields: ["since"],
      },
    },
  },
  [`POST ${ONE}/retry`]: { success: 200 },
  [`POST ${ONE}/test`]: { success: 201 },
  [`POST ${ONE}/replay`]: {
    success: 200,
    body: { which: "failed" },
    malformed: {
      ...badKey,
      "no selection": { body: {}, fields: ["which"] },
    },
  },
  "GET /v1/webhook-deliveries": {
    success: 200,
    malformed: {
      "several problems": {
        query: "?status=lost&event_type=x&since=today&until=1&page_size=0&cursor=x&marking_number=",
        fields: ["status", "event_type", "since", "until", "page_size", "cursor", "marking_number"],
      },
      "an empty time range": {
        query: "?since=2026-11-22T08:00:00Z&until=2026-11-22T08:00:00Z",
        fields: ["until"],
      },
    },
  },
  "GET /v1/webhook-deliveries/{id}": { success: 200 },
  [`GET ${ONE}/attempts`]: { success: 200 },
  "POST /v1/webhook-deliveries/{id}/replay": {
    success: 201,
    malformed: badKey,
  },
  "POST /v1/webhook-deliveries/replay": {
    success: 200,
    body: { ids: ["dlv_01KAJQZ4T8M2N6R0V4Y7C1F5HK"] },
    malformed: {
      ...badKey,
      "no deliveries": { body: { ids: [] }, fields: ["ids"] },
      "101 deliveries": { body: { ids: Array.from({ length: 101 }, String) }, fields: ["ids"] },
    },
  },
};
const names = Object.keys(samples);
const sampleOf = (name: string): Sample => samples[name] as Sample;
const namesWith = (has: (sample: Sample, name: string) => unknown): string[] =>
  names.filter((name) => has(sampleOf(name), name));

/** test/api/refusals.test.ts causes them for every operation; 500 is tested in test/api/envelope.test.ts. */
const SHARED_REFUSALS = [401, 403, 413, 415, 429, 500, 503];
/** It causes these for every operation with an Idempotency-Key. */
const KEYED_REFUSALS = [409, 422];

let app: SharedApp;

beforeAll(async () => {
  app = await sharedApp("api");
});

/** The statuses that tests expect, by operation. */
const expectedStatuses = new Map(names.map((name) => [name, new Set<number>()]));

/** Records that a test expects the status of these operations. */
function expecting(status: number, operations: string[]): string[] {
  for (const name of operations) expectedStatuses.get(name)?.add(status);
  return operations;
}

const newFixture = () => setUpWebhooks(app, { jobs: 1, finished: "failed", settings: { url: URL } });

interface Change {
  body?: object | undefined;
  query?: string | undefined;
  headers?: Record<string, string> | undefined;
}

async function send(name: string, fixture: WebhookFixture, change: Change = {}): Promise<ApiResponse> {
  const [method = "", template = ""] = name.split(" ");
  const id = template.startsWith("/v1/webhook-deliveries") ? fixture.delivery : fixture.endpoint;
  const { body = sampleOf(name).body, query = "", headers = {} } = change;
  return await app.call(template.replace("{id}", id) + query, {
    method,
    key: fixture.key,
    headers,
    ...(body && { body: JSON.stringify(body) }),
  });
}

describe("success", () => {
  const successful = names.map((name) => [name, sampleOf(name).success] as const);
  for (const [name, status] of successful) expecting(status, [name]);
  it.each(successful)("%s → %i", async (name, status) => {
    expect((await send(name, await newFixture())).status).toBe(status);
  });
});

describe("400 with all problems, and nothing changes", () => {
  const unknown: Sample["malformed"] = {
    "an unknown parameter": { query: "?unknown=1", fields: ["unknown"] },
  };
  const malformedOf = (name: string): NonNullable<Sample["malformed"]> => ({
    ...sampleOf(name).malformed,
    ...(name.startsWith("GET ") ? {} : unknown),
  });
  const cases = expecting(
    400,
    namesWith((_sample, name) => Object.keys(malformedOf(name)).length > 0),
  ).flatMap((name) =>
    Object.entries(malformedOf(name)).map(([what, change]) => [name, what, change] as const),
  );
  it.each(cases)("%s: %s", async (name, _what, { fields, ...change }) => {
    const fixture = await newFixture();
    const before = await snapshotOf(app.database, fixture.organization.id);
    const location = change.query ? "query" : change.headers ? "header" : "body";
    expectProblems(await send(name, fixture, change), location, fields);
    expect(await snapshotOf(app.database, fixture.organization.id)).toEqual(before);
  });
});

describe("404, and nothing changes", () => {
  const withId = namesWith((_sample, name) => name.includes("{id}"));

  const list = expecting(404, ["GET /v1/webhook-deliveries"]);
  it.each(list)("for an unknown endpoint in the list: %s", async (name) => {
    const [mine, theirs] = [await newFixture(), await newFixture()];
    expectFailure(await send(name, mine, { query: "?endpoint_id=whe_nonsense" }), 404);
    expectFailure(await send(name, mine, { query: `?endpoint_id=${theirs.endpoint}` }), 404);
  });

  // evidence: webhooks-rest-isolated
  it.each(expecting(404, withId))(
    "for an ID of another organisation, with the same response: %s",
    async (name) => {
      const [mine, theirs] = [await newFixture(), await newFixture()];
      const before = await snapshotOf(app.database, theirs.organization.id);
      const foreign = { ...mine, endpoint: theirs.endpoint, delivery: theirs.delivery };
      const unknown = {
        ...mine,
        endpoint: "whe_00000000000000000000000000",
        delivery: "dlv_00000000000000000000000000",
      };
      const error = expectFailure(
        await send(name, foreign),
        404,
        /^There is no such (webhook endpoint|delivery)$/,
      );
      expect(error).toEqual(expectFailure(await send(name, unknown), 404));
      expect(await snapshotOf(app.database, theirs.organization.id)).toEqual(before);
    },
  );

  it.each(["GET /v1/webhook-endpoints", "GET /v1/webhook-deliveries"])(
    "lists have only objects of the own organisation: %s",
    async (name) => {
      const [mine, theirs] = [await newFixture(), await newFixture()];
      const text = JSON.stringify((await send(name, mine)).body.data);
      expect(text).toContain(mine.endpoint);
      expect(text).not.toContain(theirs.endpoint);
    },
  );
});

describe("Idempotency-Key", () => {
  const headers = { "idempotency-key": "retry" };

  // evidence: idempotency-record-without-signing-secret
  it.each(
    namesWith((_sample, name) => /webhook-endpoints$|rotate-secret$/.test(name) && name.startsWith("POST")),
  )("stores no signing secret: %s", async (name) => {
    const fixture = await newFixture();
    const { secret } = (await send(name, fixture, { headers })).body.data;
    expect(secret).toMatch(/^whsec_/);
    const records = await app.database.query<{ answer: string }>(sql`
        select answer from idempotency_record where organization_id = ${fixture.organization.id}`);
    expect(records).toHaveLength(1);
    expect(JSON.stringify(records)).not.toContain("whsec_");
    expect(JSON.stringify(records)).not.toContain((secret as string).slice(6));
  });
});

describe("409 because of the state of an object", () => {
  it.each(expecting(409, [`POST ${ONE}/test`]))("%s: the secrets cannot be read", async (name) => {
    const fixture = await newFixture();
    await app.database.query(sql`
      update webhook_endpoint set secrets = jsonb_set(secrets, '{0,sealed}', '"damaged"') where id = ${fixture.uuid}`);
    expectFailure(await send(name, fixture), 409);
  });

  it.each(expecting(409, [`POST ${ONE}/retry`]))("%s: the endpoint is paused", async (name) => {
    const fixture = await newFixture();
    await send(`POST ${ONE}/pause`, fixture);
    expectFailure(await send(name, fixture), 409);
  });
});

describe("the document", () => {
  it.each(names)("declares only statuses that a test here expects: %s", (name) => {
    const [method = "", path = ""] = name.split(" ");
    const item = contract.paths[path] as Record<string, Operation>;
    const { parameters, responses } = item[method.toLowerCase()]!;
    const isKeyed = parameters?.some((parameter) => parameter.name === "Idempotency-Key");
    const shared = new Set([...SHARED_REFUSALS, ...(isKeyed ? KEYED_REFUSALS : [])]);
    const declared = new Set(Object.keys(responses).map(Number));
    expect(expectedStatuses.get(name)?.difference(shared)).toEqual(declared.difference(shared));
  });

  it("has only operations of webhooks that were called here", () => {
    const described = Object.entries(contract.paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(names.toSorted()).toEqual(described.filter((name) => name.includes(" /v1/webhook-")).toSorted());
  });
});
