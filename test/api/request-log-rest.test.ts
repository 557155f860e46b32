/** GET /v1/requests: the request log over REST. GraphQL's `requestLog` is tested in request-log.test.ts. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { toTypedId } from "../../src/core/ids.ts";
import { encodeCursor } from "../../src/core/cursor.ts";
import { sql } from "../../src/core/postgres/sql.ts";
import { expectData, expectFailure, expectProblems } from "../support/app/assertions.ts";
import { getJob, listJobs, patchJob } from "../support/app/job-client.ts";
import { startTestApp, type TestApp, type TestOrganization } from "../support/app/app.fixture.ts";
import { eventually } from "../support/eventually.ts";

let app: TestApp;
let agent: TestOrganization;
let other: TestOrganization;
/** Another key of the agent, with its id. */
let second: { id: string; key: string };
/** The requests of the fixture, in the order in which they were made. */
let requests: { id: string; by: "first" | "second"; status: number }[];
/** The key that reads the log. The tests leave its own requests out. */
let reader: { id: string; key: string };
let foreign: string;

const ROUNDS = 4;

beforeAll(async () => {
  app = await startTestApp({ WAYMARK_ROLE: "api" });
  agent = await app.createOrganization("agent");
  other = await app.createOrganization("agent");
  second = await createKey("second");
  reader = await createKey("reader");
  foreign = (await listJobs(app, other)).body.request_id;
  const [number = ""] = await app.createJobs(agent, [{}]);
  requests = [];
  for (let round = 0; round < ROUNDS; round += 1)
    for (const [by, key] of [["first", agent.key] as const, ["second", second.key] as const])
      for (const response of [
        await getJob(app, { key }, number),
        await patchJob(app, { key }, number, { weight: "heavy" }),
      ])
        requests.push({ id: response.body.request_id, by, status: response.status });
  await waitUntilLogged();
  // No request fails with 5xx by itself.
  const [newest] = idsOf(({ status }) => status === 400);
  const failed = requests.find(({ id }) => id === newest);
  await app.database.query(sql`
    update request_log set status = 503 where organization_id = ${agent.id} and status = 400 and id = (
      select max(id::text)::uuid from request_log where organization_id = ${agent.id} and status = 400)`);
  if (failed) failed.status = 503;
});
afterAll(() => app[Symbol.asyncDispose]());

function waitUntilLogged(): Promise<void> {
  return eventually(async () => {
    const written = await app.database.query(sql`
      select from request_log where organization_id in (${agent.id}::uuid, ${other.id}::uuid)`);
    expect(written).toHaveLength(requests.length + 1);
  });
}

async function createKey(name: string) {
  const { key, text } = await app.keys.create({ organizationId: agent.id, name, createdBy: "test" });
  return { id: toTypedId("key", key.id), key: text };
}

interface Entry {
  request_id: string;
  key_id: string;
  status: number;
}

async function page(query: Record<string, string>, key = reader.key) {
  const response = await app.call(`/v1/requests?${new URLSearchParams(query)}`, { key });
  const { items, pagination } = expectData(response);
  return { items: items as Entry[], next: pagination.next_cursor as string | null, response };
}

/** Follows the cursor to the end, and returns the ids of each page. */
async function pagesOf(query: Record<string, string>): Promise<string[][]> {
  const pages: string[][] = [];
  for (let cursor: string | null = ""; cursor !== null;) {
    const { items, next } = await page({ ...query, ...(cursor && { cursor }) });
    pages.push(items.filter(({ key_id: id }) => id !== reader.id).map(({ request_id: id }) => id));
    cursor = next;
  }
  return pages;
}

/** The ids of the fixture's requests for which `matches`, newest first. Those of one millisecond have a random order. */
const idsOf = (matches: (request: (typeof requests)[number]) => boolean = () => true): string[] =>
  requests
    .filter(matches)
    .map(({ id }) => id)
    .toSorted()
    .toReversed();

describe("each filter", () => {
  it.each<[string, (status: number) => boolean]>([
    ["succeeded", (status) => status < 400],
    ["refused", (status) => status >= 400 && status < 500],
    ["failed", (status) => status >= 500],
  ])("outcome=%s", async (outcome, matches) => {
    const expected = idsOf(({ status }) => matches(status));
    expect(expected.length).toBeGreaterThan(0);
    expect((await pagesOf({ outcome, page_size: "100" })).flat()).toEqual(expected);
  });

  it("key_id, alone and with an outcome", async () => {
    const query = { key_id: second.id, page_size: "100" };
    expect((await pagesOf(query)).flat()).toEqual(idsOf(({ by }) => by === "second"));
    expect((await pagesOf({ ...query, outcome: "refused" })).flat()).toEqual(
      idsOf(({ by, status }) => by === "second" && status === 400),
    );
  });

  it("key_id of a key that made no request, of another organisation or malformed returns nothing", async () => {
    const unused = await createKey("unused");
    const [theirs] = await app.keys.list(other.id);
    for (const id of [unused.id, toTypedId("key", theirs?.id ?? ""), "nonsense"])
      expect((await page({ key_id: id })).items).toEqual([]);
  });

  it("none returns the own organisation's requests, newest first", async () => {
    expect((await pagesOf({ page_size: "100" })).flat()).toEqual(idsOf());
    const theirs = await page({ page_size: "100" }, other.key);
    expect(theirs.items.map(({ request_id: id }) => id)).toContain(foreign);
    expect(theirs.items.filter(({ request_id: id }) => idsOf().includes(id))).toEqual([]);
  });
});

describe("the cursor", () => {
  it("is in the Link header, with the other parameters", async () => {
    const query = { outcome: "succeeded", page_size: "2", key_id: second.id };
    const { next, response } = await page(query);
    const [, link = ""] = /<([^>]*)>; rel="next"/.exec(response.headers.get("link") ?? "") ?? [];
    const parameters = new URLSearchParams(link.slice("/v1/requests?".length));
    expect(Object.fromEntries(parameters)).toEqual({ ...query, cursor: next });
    const { items } = expectData(await app.call(link, { key: reader.key }));
    expect(items).toEqual((await page({ ...query, cursor: next ?? "" })).items);
  });

  it("of another organisation reveals none of its requests", async () => {
    const { next } = await page({ page_size: "1" });
    const { items } = await page({ page_size: "100", cursor: next ?? "" }, other.key);
    expect(items.filter(({ request_id: id }) => id !== foreign).map(({ key_id: id }) => id)).not.toContain(
      second.id,
    );
    expect(items.filter(({ request_id: id }) => idsOf().includes(id))).toEqual([]);
  });
});

describe("400", () => {
  it("for a cursor of another list", async () => {
    const { pagination } = expectData(await listJobs(app, reader, "page_size=1&sort=-created_at"));
    const uuid = "01900000-0000-7000-8000-000000000000";
    const foreignCursors = [
      pagination.next_cursor ?? encodeCursor("jobs", ["-created_at", "2026-01-01T00:00:00.000Z", uuid]),
      encodeCursor("events", ["1", "2"]),
      encodeCursor("deliveries", [uuid]),
      encodeCursor("requests", ["nonsense"]),
      encodeCursor("requests", [uuid, uuid]),
      "x",
    ];
    for (const cursor of foreignCursors) {
      const response = await app.call(`/v1/requests?cursor=${cursor}`, { key: reader.key });
      const [problem] = expectProblems(response, "query", ["cursor"]);
      expect(problem?.message).toContain("is not a cursor of this list");
    }
  });
});

describe("GET /v1/requests/{request_id}", () => {
  it("returns the entry of the list", async () => {
    const { items } = await page({ page_size: "100" });
    for (const id of idsOf().slice(0, 2)) {
      const response = await app.call(`/v1/requests/${id}`, { key: reader.key });
      expect(expectData(response)).toEqual(items.find((item) => item.request_id === id));
    }
  });

  it("returns 404 for another organisation's request, as for an unknown one", async () => {
    const responses = await Promise.all(
      [foreign, "req_01KAJQZ4T0W5H8M3N9PXR2VD7C", "nonsense"].map((id) =>
        app.call(`/v1/requests/${id}`, { key: reader.key }),
      ),
    );
    const errors = responses.map((response) => expectFailure(response, 404));
    expect(new Set(errors.map((error) => JSON.stringify(error))).size).toBe(1);
  });
});
