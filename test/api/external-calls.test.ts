/** Requests that wait for a slow receiver or name server are limited per organisation and don't count as load. */
import { Resolver } from "node:dns/promises";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { graphql, type GraphqlResponse } from "../support/graphql/client.ts";
import { listJobs } from "../support/app/job-client.ts";
import { createFactories, type TestOrganization } from "../support/app/app.fixture.ts";
import { sharedApp } from "../support/app/shared-app.ts";
import { startTestReceiver, type TestReceiver } from "../support/webhooks/receiver.ts";
import { eventually } from "../support/eventually.ts";
import { openTransaction, waitForBlockedSessions } from "../support/database/blocked-sessions.ts";
import { expectFailure } from "../support/app/assertions.ts";
import { startAppInstance, type ApiResponse, type AppInstance } from "../support/app/app-instance.ts";
import { fromTypedId } from "../../src/core/ids.ts";
import { sql } from "../../src/core/postgres/sql.ts";

/** Requests that may be in flight during an overload: one per connection to PostgreSQL. */
const CAPACITY = 20;
/** Calls of one organisation. */
const MAX_CALLS = 5;
/** More than may be in flight, and few enough to be sent before the first calls time out: after 15 s, or 4 s for DNS. */
const FLOOD = CAPACITY + 10;
const SEND =
  "mutation ($id: ID!) { sendTestEvent(endpointId: $id) { delivery { status } userErrors { message } } }";
const CREATE =
  "mutation ($url: String!) { createWebhookEndpoint(input: { url: $url }) { endpoint { id } userErrors { message } } }";
const UPDATE =
  "mutation ($id: ID!, $url: String!) { updateWebhookEndpoint(id: $id, patch: { url: $url }) { userErrors { message } } }";

let app: AppInstance & ReturnType<typeof createFactories>;
let other: TestOrganization;

beforeAll(async () => {
  const { databaseUrl } = await sharedApp("api");
  const instance = await startAppInstance(databaseUrl, {
    LOAD_SHEDDING: "on",
    DATABASE_POOL_SIZE: String(CAPACITY),
    WEBHOOK_ALLOW_PRIVATE: "on",
    WAYMARK_ROLE: "api",
  });
  app = { ...instance, ...createFactories(instance) };
  other = await app.createOrganization("agent");
});
afterAll(() => app[Symbol.asyncDispose]());

/** A receiver that does not respond until `release` is called. */
async function startHangingReceiver(): Promise<{ receiver: TestReceiver; release: () => void }> {
  const { promise, resolve: release } = Promise.withResolvers<void>();
  const respond = async () => {
    await promise;
    return { status: 200 };
  };
  const receiver = await startTestReceiver({ respond });
  onTestFinished(async () => {
    release();
    await receiver[Symbol.asyncDispose]();
  });
  return { receiver, release };
}

async function newEndpoint({ key }: TestOrganization, url: string): Promise<string> {
  const { data } = await graphql(app, CREATE, { key, variables: { url } });
  return String(data.createWebhookEndpoint.endpoint.id);
}

async function inFlight(): Promise<number> {
  const text = (await app.request("/metrics")).text;
  return Number(/^waymark_http_concurrency_in_use (\d+)$/m.exec(text)?.[1]);
}

/** Sends `count` requests, ten at a time, and lists another organisation's jobs after each ten. */
async function flood(
  count: number,
  send: (index: number) => Promise<GraphqlResponse>,
): Promise<{ responses: Promise<GraphqlResponse>[]; listed: Set<number> }> {
  const responses: Promise<GraphqlResponse>[] = [];
  const listed = new Set<number>();
  for (let index = 0; index < count; index += 1) {
    responses.push(send(index));
    if (index % 10 === 9) listed.add((await listJobs(app, other)).status);
  }
  return { responses, listed };
}

/** Resolves when all but `left` requests have been answered. */
async function settledBut(
  left: number,
  responses: readonly Promise<GraphqlResponse>[],
): Promise<GraphqlResponse[]> {
  const settled: GraphqlResponse[] = [];
  for (const response of responses) void response.then((one) => settled.push(one));
  await eventually(() => expect(settled).toHaveLength(responses.length - left));
  return settled;
}

function expectRefused(responses: readonly GraphqlResponse[], what: string): void {
  for (const { status, headers, errors } of responses) {
    expect({ status, code: errors?.[0]?.extensions.code }).toEqual({ status: 429, code: "RATE_LIMITED" });
    expect(headers.get("retry-after")).toBe("5");
    expect(errors?.[0]?.message).toContain(`${MAX_CALLS} ${what} of this organisation are in flight`);
  }
}

/** Names resolve to no IP address, once `release` is called. */
function silenceNameServer(): () => void {
  const { promise, reject } = Promise.withResolvers<never>();
  promise.catch(() => undefined);
  vi.spyOn(Resolver.prototype, "resolve4").mockReturnValue(promise);
  vi.spyOn(Resolver.prototype, "resolve6").mockReturnValue(promise);
  onTestFinished(() => void vi.restoreAllMocks());
  return () => reject(Object.assign(new Error("no such name"), { code: "ENOTFOUND" }));
}

describe("a flood of test events of one key to a receiver that does not respond", () => {
  // evidence: external-calls-test-events-limited
  it("don't affect list requests of another organisation; all but five return 429", async () => {
    const agent = await app.createOrganization("agent");
    const { receiver, release } = await startHangingReceiver();
    const id = await newEndpoint(agent, receiver.url);
    const { responses, listed } = await flood(FLOOD, () =>
      graphql(app, SEND, { key: agent.key, variables: { id } }),
    );
    expect(listed).toEqual(new Set([200]));
    expectRefused(await settledBut(MAX_CALLS, responses), "test events");
    await receiver.waitFor(MAX_CALLS);
    await eventually(async () => expect(await inFlight()).toBe(0));
    release();
    const succeeded = (await Promise.all(responses)).filter(({ status }) => status === 200);
    expect(succeeded.map(({ data }) => data.sendTestEvent.delivery.status)).toEqual(
      Array(MAX_CALLS).fill("DELIVERED"),
    );
    const again = await graphql(app, SEND, { key: agent.key, variables: { id } });
    expect(again.data.sendTestEvent).toEqual({ delivery: { status: "DELIVERED" }, userErrors: [] });
  });

  // evidence: external-calls-limit-per-organization
  it("are limited per organisation", async () => {
    const { receiver, release } = await startHangingReceiver();
    const partners = [await app.createOrganization("agent"), await app.createOrganization("contractor")];
    const sent = await Promise.all(
      partners.map(async (partner) => {
        const id = await newEndpoint(partner, receiver.url);
        return Array.from({ length: MAX_CALLS }, () =>
          graphql(app, SEND, { key: partner.key, variables: { id } }),
        );
      }),
    );
    await receiver.waitFor(2 * MAX_CALLS);
    release();
    for (const { status } of await Promise.all(sent.flat())) expect(status).toBe(200);
  });
});

// evidence: external-calls-url-checks-limited
it("URL checks with a name server that does not respond don't count as in flight; more than five per organisation return 429", async () => {
  const agent = await app.createOrganization("agent");
  const id = await newEndpoint(agent, "http://127.0.0.1:9/hook");
  const release = silenceNameServer();
  const { responses, listed } = await flood(FLOOD, (index) => {
    const url = `https://dead-${index}.test/hook`;
    return index % 2 === 0
      ? graphql(app, CREATE, { key: agent.key, variables: { url } })
      : graphql(app, UPDATE, { key: agent.key, variables: { id, url } });
  });
  expect(listed).toEqual(new Set([200]));
  expectRefused(await settledBut(MAX_CALLS, responses), "URL checks");
  await eventually(async () => expect(await inFlight()).toBe(0));
  release();
  const succeeded = (await Promise.all(responses)).filter(({ status }) => status === 200);
  expect(succeeded).toHaveLength(MAX_CALLS);
  for (const { text } of succeeded) expect(text).toContain("does not resolve");
});

const post = ({ key }: TestOrganization, path: string, body?: object, idempotencyKey = "once") =>
  app.call(path, {
    method: "POST",
    key,
    headers: { "idempotency-key": idempotencyKey },
    ...(body && { body: JSON.stringify(body) }),
  });

/** Transactions that wait for the process. */
const idleTransactions = () =>
  app.database.query(sql`
    select from pg_stat_activity where datname = current_database() and state = 'idle in transaction'`);

/** Expects the 429 of the operation's own limit. `app.call` compares its headers with the document. */
function expectOwnLimit(response: ApiResponse, what: string): void {
  expectFailure(response, 429, `${what} of this organisation are in flight`);
  expect(response.headers.get("retry-after")).toBe("5");
  expect([...response.headers.keys()].filter((name) => name.includes("ratelimit"))).toEqual([]);
}

describe("over REST", () => {
  // evidence: external-calls-rest-hold-nothing
  it("a test event and a URL check hold neither a slot nor a connection to PostgreSQL", async () => {
    const agent = await app.createOrganization("agent");
    const { receiver, release } = await startHangingReceiver();
    const id = await newEndpoint(agent, receiver.url);
    const tests = Array.from({ length: MAX_CALLS }, () => post(agent, `/v1/webhook-endpoints/${id}/test`));
    await receiver.waitFor(MAX_CALLS);
    const releaseNames = silenceNameServer();
    const created = post(agent, "/v1/webhook-endpoints", { url: "https://dead.test/hook" });
    await eventually(() => expect(vi.mocked(Resolver.prototype.resolve4)).toHaveBeenCalled());
    await eventually(async () => expect(await inFlight()).toBe(0));
    // Short transactions of background tasks end.
    await eventually(async () => expect(await idleTransactions()).toEqual([]));
    releaseNames();
    release();
    expect((await created).status).toBe(400);
    for (const { status } of await Promise.all(tests)) expect(status).toBe(201);
  });

  it("429 of a sixth URL check has Retry-After, and no RateLimit headers while rate limits are off, in POST and PATCH", async () => {
    const agent = await app.createOrganization("agent");
    const id = await newEndpoint(agent, "http://127.0.0.1:9/hook");
    const release = silenceNameServer();
    // Look-ups of the same name are shared.
    const create = (name: string) =>
      post(agent, "/v1/webhook-endpoints", { url: `https://${name}.test/hook` }, name);
    const checks = Array.from({ length: MAX_CALLS }, (_, index) => create(`dead-${index}`));
    await eventually(() => expect(vi.mocked(Resolver.prototype.resolve4)).toHaveBeenCalledTimes(MAX_CALLS));
    expectOwnLimit(await create("sixth"), "URL checks");
    const update = {
      method: "PATCH",
      key: agent.key,
      body: JSON.stringify({ url: "https://seventh.test/hook" }),
    };
    expectOwnLimit(await app.call(`/v1/webhook-endpoints/${id}`, update), "URL checks");
    release();
    await Promise.all(checks);
  });

  it("429 of a third replay has the same headers", async () => {
    const agent = await app.createOrganization("agent");
    const id = await newEndpoint(agent, "http://127.0.0.1:9/hook");
    const lock = sql`select pg_advisory_xact_lock(hashtextextended(${`replay to ${fromTypedId("whe", id)}`}, 0))`;
    const held = await openTransaction(app.database, lock);
    const replay = (key: string) =>
      post(agent, `/v1/webhook-endpoints/${id}/replay`, { which: "failed" }, key);
    const running = [replay("one"), replay("two")];
    await waitForBlockedSessions(app.database, running.length);
    expectOwnLimit(await replay("three"), "replays");
    await held.commit();
    await Promise.all(running);
  });
});
