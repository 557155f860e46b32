/**
 * GET /v1/requests: filters, cursor and isolation, and the same filters in GraphQL. The rest of GraphQL's `requestLog` is tested in
 * request-log.test.ts.
 */
import { beforeAll, describe, expect, it } from "vitest";
import { fromTypedId, toTypedId } from "../../src/core/ids.ts";
import { encodeCursor } from "../../src/core/cursor.ts";
import { sql } from "../../src/core/postgres/sql.ts";
import { expectData, expectFailure, expectProblems } from "../support/app/assertions.ts";
import { listJobs } from "../support/app/job-client.ts";
import type { TestOrganization } from "../support/app/app.fixture.ts";
import { useSharedApp } from "../support/app/shared-app.ts";
import { eventually } from "../support/eventually.ts";
import { queryData } from "../support/graphql/client.ts";
import { inRestForm } from "../support/webhooks/webhook-parity.fixture.ts";

const { app, agent } = useSharedApp();
let other: TestOrganization;
/** The key that made the requests of the fixture. The tests use the organisation's first key. */
let keyId: string;
/** The requests of the fixture, newest first: one that failed, one that was refused, one that succeeded. */
let ids: string[];
let foreign: string;

beforeAll(async () => {
  other = await app.createOrganization("agent");
  const made = await app.keys.create({ organizationId: agent.id, name: "logged", createdBy: "test" });
  keyId = toTypedId("key", made.key.id);
  const responses = await Promise.all([0, 1, 2].map(() => listJobs(app, { key: made.text })));
  ids = responses
    .map(({ body }) => body.request_id)
    .toSorted()
    .toReversed();
  foreign = (await listJobs(app, other)).body.request_id;
  await eventually(async () => {
    const written = await app.database.query(sql`
      select from request_log where organization_id in (${agent.id}::uuid, ${other.id}::uuid)`);
    if (written.length < 4) throw new Error(`The log has ${written.length} of 4 requests`);
  });
  // No request fails with 5xx by itself.
  for (const [index, status] of [503, 400, 200].entries())
    await app.database.query(
      sql`update request_log set status = ${status} where id = ${fromTypedId("req", ids[index] ?? "")}::uuid`,
    );
});

async function page(query: Record<string, string>, { key } = agent) {
  const response = await app.call(`/v1/requests?${new URLSearchParams(query)}`, { key });
  const { items, pagination } = expectData(response) as {
    items: { request_id: string }[];
    pagination: { next_cursor: string | null };
  };
  return { items, found: items.map((item) => item.request_id), next: pagination.next_cursor, response };
}

const FIELDS =
  "requestId at method path status durationMs errorCode keyId keyName requestBody responseBody simulated ignoredParameters";

describe("the list", () => {
  it("has the requests of a key, newest first", async () => {
    expect((await page({ key_id: keyId })).found).toEqual(ids);
  });

  it.each(["failed", "refused", "succeeded"])(
    "has those with outcome=%s, in GraphQL too",
    async (outcome) => {
      const { items, found } = await page({ key_id: keyId, outcome });
      expect(found).toEqual([ids[["failed", "refused", "succeeded"].indexOf(outcome)]]);
      const filter = `first: 20, keyId: "${keyId}", status: ${outcome.toUpperCase()}`;
      const { requestLog } = await queryData(app, `{ requestLog(${filter}) { nodes { ${FIELDS} } } }`, agent);
      expect(inRestForm(requestLog.nodes)).toEqual(items);
    },
  );

  it("has only those of the own organisation, also by a key or a cursor of another", async () => {
    const { next } = await page({ key_id: keyId, page_size: "1" });
    const queries = [{ page_size: "100" }, { key_id: keyId }, { page_size: "100", cursor: next ?? "" }];
    const found = await Promise.all(queries.map((query) => page(query, other)));
    expect(found[0]?.found).toContain(foreign);
    expect(found.flatMap((each) => each.found).filter((id) => ids.includes(id))).toEqual([]);
    expect((await page({ key_id: "nonsense" })).items).toEqual([]);
  });

  it("has its cursor in the Link header, with the other parameters", async () => {
    const query = { page_size: "2", key_id: keyId };
    const { next, response } = await page(query);
    const [, link = ""] = /<([^>]*)>; rel="next"/.exec(response.headers.get("link") ?? "") ?? [];
    const parameters = new URLSearchParams(link.slice("/v1/requests?".length));
    expect(Object.fromEntries(parameters)).toEqual({ ...query, cursor: next });
    expect((await page(Object.fromEntries(parameters))).found).toEqual(ids.slice(2));
  });

  it("returns 400 for a cursor of another list", async () => {
    const uuid = "01900000-0000-7000-8000-000000000000";
    const cursors = [
      encodeCursor("jobs", ["-created_at", "2026-01-01T00:00:00.000Z", uuid]),
      encodeCursor("deliveries", [uuid]),
      encodeCursor("requests", ["nonsense"]),
      encodeCursor("requests", [uuid, uuid]),
    ];
    for (const cursor of cursors)
      expectProblems(await app.call(`/v1/requests?cursor=${cursor}`, { key: agent.key }), "query", [
        "cursor",
      ]);
  });
});

it("names the parameters that a request named in vain, without what may be a secret", async () => {
  const { body } = await listJobs(app, agent, `status=failed&${agent.key}=1&page=1`);
  await eventually(async () =>
    expect(expectData(await get(body.request_id))).toMatchObject({
      path: "/v1/jobs",
      ignored_parameters: ["status", "***"],
    }),
  );
  expect(expectData(await get(ids[0])).ignored_parameters).toEqual([]);
});

const get = (id = "") => app.call(`/v1/requests/${id}`, { key: agent.key });

it("GET /v1/requests/{request_id} returns the entry, and the same 404 for a foreign as for an unknown one", async () => {
  const [newest] = (await page({ key_id: keyId })).items;
  expect(expectData(await get(ids[0]))).toEqual(newest);
  const refused = await Promise.all([foreign, "req_01KAJQZ4T0W5H8M3N9PXR2VD7C", "nonsense"].map(get));
  const errors = refused.map((response) => JSON.stringify(expectFailure(response, 404)));
  expect(new Set(errors).size).toBe(1);
});
