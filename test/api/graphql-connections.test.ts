/** Reads every connection page by page over HTTP: each row appears once, in both directions, also while rows change. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSchema } from "../../src/api/graphql/schema.ts";
import { toTypedId } from "../../src/core/ids.ts";
import { sql } from "../../src/core/postgres/sql.ts";
import { createSignedInUser, type SignedInTestUser } from "../support/accounts/signed-in-user.ts";
import { queryData, graphql, type GraphqlRequestOptions } from "../support/graphql/client.ts";
import { expectData } from "../support/app/assertions.ts";
import { patchJob } from "../support/app/job-client.ts";
import { startTestApp, type TestOrganization, type TestApp } from "../support/app/app.fixture.ts";
import { eventually } from "../support/eventually.ts";

let app: TestApp;
let agent: TestOrganization;
let owner: SignedInTestUser;
let operator: SignedInTestUser;
/** The ID of a key whose requests are all in the log. */
let loggedKey: string;

const NUMBER = "C-0";
const JOBS = 8;
/** Of the other lists, at least. */
const ROWS = 4;

beforeAll(async () => {
  // Reads lists of the whole service.
  app = await startTestApp({ WAYMARK_ROLE: "api", WEBHOOK_ALLOW_PRIVATE: "on" });
  agent = await app.createOrganization("agent");
  owner = await createSignedInUser(app, agent.id);
  operator = await createSignedInUser(app, null);
  const numbers = Array.from({ length: JOBS }, (_, n) => `C-${n}`);
  await app.createJobs(
    agent,
    numbers.map((markingNumber) => ({ markingNumber })),
  );
  // All created at the same time, as by an import; one third without a date.
  await app.database.query(sql`
    update job set created_at = '2026-11-01T00:00:00Z', updated_at = '2026-11-01T00:00:00Z',
      scheduled_date = case when right(marking_number, 1) in ('1', '4', '7') then null else '2026-12-01'::date end`);
  const created = await queryData(
    app,
    'mutation { createWebhookEndpoint(input: { url: "http://127.0.0.1:9/" }) { endpoint { id } } }',
    { key: agent.key },
  );
  const { id } = created.createWebhookEndpoint.endpoint;
  for (let n = 0; n < ROWS; n += 1) {
    await queryData(app, `mutation { sendTestEvent(endpointId: "${id}") { delivery { id } } }`, {
      key: agent.key,
    });
    expectData(await patchJob(app, agent, NUMBER, { weight: n + 1 }));
    await app.createOrganization("contractor");
    await owner.queryData(
      `mutation { inviteMember(input: { email: "c-${n}@test.example" }) { userErrors { code } } }`,
    );
    await app.request("/auth/account-requests", {
      method: "POST",
      headers: { origin: app.url },
      body: JSON.stringify({
        email: `r-${n}@test.example`,
        organization_name: `R ${n}`,
        organization_type: "agent",
      }),
    });
  }
  const { key: logged, text } = await app.keys.create({
    organizationId: agent.id,
    name: "log",
    createdBy: "test",
  });
  loggedKey = toTypedId("key", logged.id);
  for (let n = 0; n < ROWS; n += 1) await app.request("/v1/jobs", { key: text });
  await eventually(whatComesLater);
});

/** The request log and account requests are written after the response. */
async function whatComesLater(): Promise<void> {
  const query = `{ requestLog(keyId: "${loggedKey}") { nodes { requestId } } }`;
  expect((await queryData(app, query, byKey())).requestLog.nodes).toHaveLength(ROWS);
  const { accountRequests } = await operator.queryData("{ accountRequests { totalCount } }");
  expect(accountRequests.totalCount).toBe(ROWS);
}

afterAll(() => app[Symbol.asyncDispose]());

interface Page {
  edges: { cursor: string; node: Item }[];
  nodes: Item[];
  pageInfo: {
    hasNextPage: boolean;
    hasPreviousPage: boolean;
    startCursor: string | null;
    endCursor: string | null;
  };
}

/** `id`: the field that identifies an item. */
const pageWith = (id: string) =>
  `{ edges { cursor node { ${id} } } nodes { ${id} } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } }`;
const PAGE = pageWith("id");

/** How to query a connection, where its paging arguments go, and its path in the response. */
interface Connection {
  name: string;
  query: (page: string) => string;
  read: (data: Record<string, never>) => Page;
  backward: boolean;
  /** The principal that reads it. */
  by: () => GraphqlRequestOptions;
}

const byKey = () => ({ key: agent.key });
const byOwner = () => ({ headers: owner.headers });
const byOperator = () => ({ headers: operator.headers });

interface Root extends Partial<Pick<Connection, "backward" | "by">> {
  args?: string;
  id?: string;
}

const root = (
  name: string,
  { args = "", id = "id", backward = false, by = byKey }: Root = {},
): Connection => ({
  name: `${name} ${args}`.trim(),
  query(page) {
    const all = [args.replace("LOGGED_KEY", loggedKey), page].filter((part) => part !== "");
    return `{ ${name}(${all.join(", ")}) ${pageWith(id)} }`;
  },
  read: (data) => data[name] as unknown as Page,
  backward,
  by,
});

const ORDERS = ["CREATED_AT", "UPDATED_AT", "SCHEDULED_DATE", "MARKING_NUMBER"].flatMap((field) =>
  ["ASC", "DESC"].map((direction) => `orderBy: { field: ${field}, direction: ${direction} }`),
);

const connections: Connection[] = [
  ...ORDERS.map((args) => root("jobs", { args, backward: true })),
  root("jobs", { args: 'filter: { createdAt: { gte: "2026-11-01T00:00:00Z" } }', backward: true }),
  root("events"),
  root("events", { args: "types: [JOB_UPDATED]" }),
  root("webhookDeliveries"),
  root("webhookDeliveries", { args: "status: FAILED" }),
  root("requestLog", { args: 'keyId: "LOGGED_KEY"', id: "requestId" }),
  root("auditLog", { by: byOwner }),
  root("auditLog", { args: 'actions: ["member.invited"]', by: byOperator }),
  root("organizations", { by: byOperator }),
  root("organizations", { args: 'search: "TRACTOR"', by: byOperator }),
  root("accountRequests", { by: byOperator }),
  root("accountRequests", { args: "status: [PENDING, AWAITING_REPLY]", by: byOperator }),
  root("mailOutbox", { by: byOperator }),
  {
    name: "Job.history",
    query: (page) => `{ job(markingNumber: "${NUMBER}") { history(${page}) ${PAGE} } }`,
    read: (data) => (data["job"] as unknown as { history: Page }).history,
    backward: false,
    by: byKey,
  },
];

async function pageOf({ query, read, by }: Connection, page: string): Promise<Page> {
  return read((await queryData(app, query(page), by())) as Record<string, never>);
}

type Item = Record<string, string>;

/** Returns what identifies the items. */
const idOf = (node: Item): string => String(Object.values(node)[0]);
const idsOf = (page: Page): string[] => page.nodes.map(idOf);

/** Reads all pages and returns all IDs in list order. `between` runs after each page. */
async function walk(
  connection: Connection,
  way: "forward" | "backward",
  { size, between }: { size: number; between?: () => Promise<unknown> },
): Promise<string[]> {
  const [sizeName, cursorName] = way === "forward" ? ["first", "after"] : ["last", "before"];
  const ids: string[] = [];
  let cursor: string | null = null;
  for (let turn = 0; turn < 200; turn += 1) {
    const place: string = cursor === null ? "" : `, ${cursorName}: "${cursor}"`;
    const page = await pageOf(connection, `${sizeName}: ${size}${place}`);
    expect(page.edges.map(({ node }) => idOf(node))).toEqual(idsOf(page));
    expect(page.pageInfo.startCursor).toBe(page.edges.at(0)?.cursor ?? null);
    expect(page.pageInfo.endCursor).toBe(page.edges.at(-1)?.cursor ?? null);
    expect(way === "forward" ? page.pageInfo.hasPreviousPage : page.pageInfo.hasNextPage).toBe(
      cursor !== null,
    );
    if (way === "forward") ids.push(...idsOf(page));
    else ids.unshift(...idsOf(page));
    const { hasNextPage, hasPreviousPage, endCursor, startCursor } = page.pageInfo;
    if (!(way === "forward" ? hasNextPage : hasPreviousPage)) return ids;
    cursor = way === "forward" ? endCursor : startCursor;
    await between?.();
  }
  throw new Error("The walk has no end");
}

it("covers every connection of the schema", () => {
  const names = Object.values(createSchema().getTypeMap()).flatMap((type) =>
    "getFields" in type && !type.name.startsWith("__")
      ? Object.values(type.getFields()).flatMap((field) =>
          String(field.type).replace("!", "").endsWith("Connection")
            ? [type.name === "Query" ? field.name : `${type.name}.${field.name}`]
            : [],
        )
      : [],
  );
  const walked = new Set(connections.map(({ name }) => name.split(" ")[0]));
  expect(names.filter((name) => !walked.has(name))).toEqual([]);
  expect(names.length).toBeGreaterThan(8);
});

describe.each(connections.map((connection) => [connection.name, connection] as const))(
  "%s",
  (_name, connection) => {
    it("returns each row once and in one order for every page size, and backwards where that is possible", async () => {
      const allIds = idsOf(await pageOf(connection, "first: 100"));
      expect(allIds.length).toBeGreaterThan(3);
      expect(new Set(allIds).size).toBe(allIds.length);
      for (const way of connection.backward ? (["forward", "backward"] as const) : (["forward"] as const))
        for (const size of [1, 3]) expect(await walk(connection, way, { size })).toEqual(allIds);
    });

    it("rejects cursors of other lists or orders and modified cursors", async () => {
      const own = (await pageOf(connection, "first: 1")).pageInfo.endCursor ?? "";
      const other = connections.find(({ name }) => name.split(" ")[0] !== connection.name.split(" ")[0]);
      const foreign = other ? (await pageOf(other, "first: 1")).pageInfo.endCursor : "";
      const cursors = ["", "x", `${own}x`, foreign, "A".repeat(600), own.slice(0, -2)];
      for (const cursor of cursors.filter((text) => text !== own)) {
        const query = connection.query(`first: 1, after: "${cursor}"`);
        const { errors } = await graphql(app, query, connection.by());
        expect(errors?.[0]?.extensions, `cursor ${cursor}`).toMatchObject({
          code: "BAD_USER_INPUT",
          problems: [{ field: "after" }],
        });
      }
    });
  },
);

it("returns each job once while jobs before and after the cursor are changed, created and reordered", async () => {
  const connection = root("jobs", {
    args: "orderBy: { field: CREATED_AT, direction: DESC }",
    backward: true,
  });
  const before = idsOf(await pageOf(connection, "first: 100"));
  const known = new Set(before);
  for (const way of ["forward", "backward"] as const) {
    let n = 0;
    const walked = await walk(connection, way, {
      size: 2,
      async between() {
        n += 1;
        await app.createJobs(agent, [{ markingNumber: `new-${way}-${n}` }]);
        expectData(await patchJob(app, agent, `C-${n % JOBS}`, { instructions: `${way} ${n}` }));
      },
    });
    expect(new Set(walked).size).toBe(walked.length);
    expect(walked.filter((id) => known.has(id))).toEqual(before);
  }
});
