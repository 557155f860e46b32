/**
 * The two ways of the guide to keep a copy of the jobs, without a comparison of all jobs: REST and the feed (the starter kit), and
 * webhooks with a catch-up by the feed. Eight writers change, move, delete and create jobs meanwhile, through a proxy that cuts
 * one request in ten after it was applied.
 */
import { randomInt } from "node:crypto";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Pool } from "pg";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import {
  type Event,
  isJobEvent,
  type Job,
  verifyWebhook,
  Waymark,
} from "../../../clients/typescript/src/index.ts";
import { toTypedId } from "../../../src/core/ids.ts";
import { startTestApp, type TestApp } from "../../support/app/app.fixture.ts";
import { waitUntilFeedIsComplete } from "../../support/app/feed-client.ts";
import { startUnreliableProxy, type UnreliableProxy } from "../../support/clients/changes-through-proxy.ts";
import { installKit, runNpm } from "../../support/clients/starter-kit.ts";
import { createTestMongo } from "../../support/database/test-mongo.ts";
import { onlyBlock, readPage } from "../../support/docs/guide-pages.ts";
import { eventually } from "../../support/eventually.ts";
import { BUILD_TIMEOUT_MS, buildSite } from "../../support/site.ts";
import { startTestReceiver } from "../../support/webhooks/receiver.ts";

vi.setConfig({ testTimeout: 240_000, hookTimeout: BUILD_TIMEOUT_MS });

const WRITERS = 8;
const WRITES = 40;
const NUMBERS = 12;

const opened = new AsyncDisposableStack();
let app: TestApp;
let proxy: UnreliableProxy;
let kit: string;
let database: Pool;

beforeAll(async () => {
  await buildSite();
  app = opened.use(await startTestApp({ WEBHOOK_ALLOW_PRIVATE: "on", MONGODB_URL: createTestMongo().url }));
  const rates = { cut: 0.1, delayed: 0, limited: 0, unavailable: 0 };
  proxy = opened.use(await startUnreliableProxy(app.url, { rates, delayMs: 0, seed: "syncs" }));
  kit = opened.use(await installKit("mirror-typescript", app)).path;
  database = new Pool({ connectionString: app.databaseUrl });
  opened.defer(() => database.end());
  await database.query(tableSql);
});
afterAll(() => opened.disposeAsync());

/** The table of the guide, and the statement that stores an event in it. */
const sqlWith = (words: string): string =>
  onlyBlock(readPage("guide/webhooks/reliability.md"), "sql", (text) => text.includes(words));
const tableSql = sqlWith("create table delivery_job");
const storeSql = sqlWith("insert into delivery_job");

/** Sends a request. A cut connection is no failure: the writers change something else next. */
async function send(method: string, path: string, key: string, body?: object): Promise<void> {
  const headers = { "x-api-key": key, "content-type": "application/json" };
  const response = await fetch(proxy.url + path, {
    method,
    headers,
    ...(body && { body: JSON.stringify(body) }),
  }).catch(() => null);
  const status = response?.status ?? 0;
  await response?.body?.cancel();
  expect(status, `${method} ${path}`).toBeOneOf([0, 200, 201, 404, 409, 429]);
}

const pick = <T>(values: readonly T[]): T => values[randomInt(values.length)] as T;

type Write = () => Promise<void>;

type Copy = Record<string, number>;

/** The versions of the visible jobs by ID. */
async function visibleJobs(key: string): Promise<Copy> {
  const waymark = new Waymark({ apiKey: key, baseUrl: app.url });
  const copy: Copy = {};
  for await (const { id, version } of waymark.jobs.list({ sort: "created_at" })) copy[id] = version;
  return copy;
}

function startKit(key: string, name: string) {
  const settings = { WAYMARK_URL: proxy.url, WAYMARK_KEY: key, DATABASE: join(kit, name) };
  return runNpm(kit, ["start"], { ...settings, POLL_INTERVAL_MS: "1000" });
}

function kitCopy(name: string): Copy {
  const file = new DatabaseSync(join(kit, name), { readOnly: true });
  try {
    const rows = file.prepare("select version, job from job where job is not null").all();
    return Object.fromEntries(
      rows.map(({ version, job }) => [(JSON.parse(String(job)) as { id: string }).id, Number(version)]),
    );
  } finally {
    file.close();
  }
}

const store = (id: string, sequence: number, job: Job | null) =>
  database.query(storeSql, [id, sequence, job && JSON.stringify(job)]);

const storeEvent = (event: Event) =>
  store(event.data.job.id, event.data.sequence, isJobEvent(event) ? event.data.job : null);

/** Copies all jobs, then receives webhooks as the guide says, and fails while `isDown`. */
async function startWebhookCopy(key: string) {
  const receiver = opened.use(await startTestReceiver());
  const waymark = new Waymark({ apiKey: key, baseUrl: proxy.url });
  // Not through the proxy: a repeated answer has no secret.
  const owner = new Waymark({ apiKey: key, baseUrl: app.url });
  const { endpoint, secret } = await owner.webhooks.createEndpoint({ url: receiver.url });
  const { next_cursor: position } = await waymark.events.listPage({ after: "latest" });
  const state = { isDown: false, stored: 0 };
  receiver.respond = async ({ body, headers }) => {
    if (state.isDown) return { status: 503 };
    await storeEvent((await verifyWebhook(body, headers, secret ?? "")) as Event);
    state.stored += 1;
    return { status: 204 };
  };
  for await (const job of waymark.jobs.list({ sort: "created_at" })) await store(job.id, job.version, job);
  return {
    state,
    async catchUp(): Promise<void> {
      for (let [after, hasMore] = [position, true]; hasMore;) {
        const page = await waymark.events.listPage({ after: after ?? undefined });
        for (const event of page.items) await storeEvent(event);
        [after, hasMore] = [page.next_cursor, page.has_more];
      }
      await owner.webhooks.deleteEndpoint(endpoint.id);
    },
    async copy(): Promise<Copy> {
      const { rows } = await database.query("select id, sequence from delivery_job where job is not null");
      return Object.fromEntries(
        rows.map(({ id, sequence }: { id: string; sequence: number }) => [id, sequence]),
      );
    },
  };
}

/** Runs the writers while both copies follow, each with an interruption, and expects exact copies at the end. */
async function expectExactCopies(name: string, key: string, writes: readonly Write[]): Promise<void> {
  await waitUntilFeedIsComplete(app.database);
  await database.query("truncate delivery_job");
  const byWebhooks = await startWebhookCopy(key);
  const mirror = startKit(key, name);
  await mirror.waitFor("jobs listed");
  const write = async (): Promise<void> => {
    for (let count = 0; count < WRITES; count += 1) await pick(writes)();
  };
  const writers = Promise.all(Array.from({ length: WRITERS }, write));
  await eventually(() => expect(byWebhooks.state.stored).toBeGreaterThan(20));
  byWebhooks.state.isDown = true;
  await mirror.stop("SIGKILL");
  startKit(key, name);
  await writers;
  await waitUntilFeedIsComplete(app.database);
  byWebhooks.state.isDown = false;
  await byWebhooks.catchUp();
  const expected = await visibleJobs(key);
  expect(Object.keys(expected).length).toBeGreaterThan(0);
  expect(await byWebhooks.copy()).toEqual(expected);
  await eventually(() => expect(kitCopy(name)).toEqual(expected));
  expect(proxy.counts.cut).toBeGreaterThan(proxy.counts.requests / 20);
}

it("are exact for a test contractor whose jobs are changed, moved, deleted and created again", async () => {
  const partner = await app.createOrganization("agent");
  const createKey = (testSide: "agent" | "contractor") => app.createKey(partner.id, { testSide });
  const [agent, contractor] = [await createKey("agent"), await createKey("contractor")];
  const numbers = Array.from({ length: NUMBERS }, (_, index) => `TEST-SYNC-${index}`);
  const path = () => `/v1/test/jobs/by-marking/${pick(numbers)}`;
  const jobs = () => numbers.map((number) => ({ marking_number: number, weight: randomInt(1_000) }));
  const create: Write = () => send("POST", "/v1/test/jobs", agent, { marking_numbers: [pick(numbers)] });
  let resets = 0;
  /** A few, because each deletes all jobs. */
  const reset: Write = async () => {
    if (randomInt(20) === 0 && resets++ < 3) await send("POST", "/v1/test/reset", agent);
    await send("POST", "/v1/test/jobs", agent, { marking_numbers: numbers });
  };
  await send("POST", "/v1/test/jobs", agent, { marking_numbers: numbers });
  await expectExactCopies("test.sqlite", contractor, [
    () => send("PATCH", "/v1/jobs/batch", pick([agent, contractor]), { jobs: jobs() }),
    () => send("PATCH", `/v1/jobs/by-marking/${pick(numbers)}`, contractor, { weight: randomInt(1_000) }),
    () => send("POST", `${path()}/reassign`, agent, { assigned: false }),
    () => send("POST", `${path()}/reassign`, agent, { assigned: true }),
    create,
    reset,
  ]);
});

it("are exact for a live contractor whose jobs an operator moves", async () => {
  const agent = await app.createOrganization("agent");
  const contractors = [
    await app.createOrganization("contractor"),
    await app.createOrganization("contractor"),
  ];
  const [own = agent] = contractors;
  const numbers = await app.createJobs(
    agent,
    Array.from({ length: NUMBERS }, () => ({ contractor: own })),
  );
  const operator = await app.keys.create({ organizationId: null, name: "operator", createdBy: "test" });
  const move: Write = () =>
    send("POST", "/graphql", operator.text, {
      query: "mutation ($items: [AssignJobInput!]!) { assignJobs(items: $items) { assignedCount } }",
      variables: {
        items: [1, 2, 3].map(() => {
          const contractor = pick([...contractors, null]);
          return {
            markingNumber: pick(numbers),
            contractorId: contractor && toTypedId("org", contractor.id),
          };
        }),
      },
    });
  await expectExactCopies("live.sqlite", own.key, [
    () => send("PATCH", `/v1/jobs/by-marking/${pick(numbers)}`, own.key, { weight: randomInt(1_000) }),
    () => send("PATCH", `/v1/jobs/by-marking/${pick(numbers)}`, agent.key, { labels: `${randomInt(99)}` }),
    move,
  ]);
});
