/** `jobChanged` over WebSocket: to whom, in what order, within which limits, and how it ends. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { WebSocket } from "ws";
import { assignRows } from "../../src/jobs/job.upsert.ts";
import { createEventNotifier } from "../../src/events/event.notifier.ts";
import { systemActor } from "../../src/platform/principal.ts";
import { sql } from "../../src/platform/sql.ts";
import { expectData } from "../support/answers.ts";
import { untilShown } from "../support/feed.ts";
import { ask } from "../support/graphql.ts";
import {
  figure,
  follow,
  JOB_CHANGED,
  liveClient,
  openKnownSocket,
  openSocket,
  refusedSocket,
  socketUrl,
  standing,
  subscribe,
  type BareSocket,
  type Following,
  type LiveEvent,
  shownJobs,
} from "../support/graphql-live.ts";
import { startInstance } from "../support/instance.ts";
import { patchBatch, patchJob } from "../support/job-calls.ts";
import { startTestApp, type Partner, type TestApp } from "../support/start-app.ts";

let app: TestApp;
let happened: (organizationIds: readonly string[]) => void;
beforeAll(async () => {
  app = await startTestApp();
  happened = createEventNotifier(app.database);
});
afterAll(() => app[Symbol.asyncDispose]());

const numbersOf = (events: readonly LiveEvent[]): unknown[] => events.map(({ job }) => job?.markingNumber);

async function change(agent: Partner, number: string, weight: number): Promise<void> {
  expectData(await patchJob(app, agent, number, { weight }));
}

async function assign(agent: Partner, number: string, contractor: Partner): Promise<void> {
  const assignment = [{ markingNumber: number, contractorId: contractor.id }];
  const context = { actor: systemActor, requestId: null };
  await app.database.transaction((tx) => assignRows(tx, assignment, context));
  happened([agent.id, contractor.id]);
}

async function arrive(following: Pick<Following, "events">, count: number): Promise<void> {
  await vi.waitFor(() => expect(following.events).toHaveLength(count), 20_000);
}

/** Subscribes on a bare socket. */
function ofJobs(id: string, payload: object = {}): object {
  return { type: "subscribe", id, payload: { query: JOB_CHANGED, ...payload } };
}

function talk(socket: BareSocket): void {
  for (let at = 0; at < 300; at += 1) socket.send({ type: "ping" });
}

function pingOn({ socket }: BareSocket): void {
  for (let at = 0; at < 300; at += 1) socket.ping();
}

/** The feed cannot be read meanwhile, and without that no subscription begins. */
async function whileNoneCanBegin(act: () => Promise<void>): Promise<void> {
  await app.database.transaction(async (tx) => {
    await tx.query(sql`lock table job_event in access exclusive mode`);
    await act();
  });
}

/** Headers of a request that a proxy passes on. */
const from = (address: string): Record<string, string> => ({ "x-forwarded-for": address });

interface ErrorMessage {
  id: string;
  payload: { message: string; extensions: Record<string, unknown> }[];
}

const refusal = async (socket: BareSocket): Promise<ErrorMessage> =>
  (await socket.message("error")) as unknown as ErrorMessage;

describe("what arrives", () => {
  it("goes to the agent and the contractor, from its assignment on, to operators, and to nobody else", async () => {
    const [agent, other, contractor] = [
      await app.partner("agent"),
      await app.partner("agent"),
      await app.partner("contractor"),
    ];
    const operator = await app.keys.create({ organizationId: null, name: "operator", createdBy: "test" });
    const [number = ""] = await shownJobs(app, agent, [{}]);
    const [others = ""] = await shownJobs(app, other, [{}]);
    const byAgent = await follow(app, agent.key);
    const byContractor = await follow(app, contractor.key);
    const byOther = await follow(app, other.key);
    const byOperator = await follow(app, operator.text);

    await change(agent, number, 1);
    await assign(agent, number, contractor);
    await change(contractor, number, 2);
    await change(other, others, 3);
    await arrive(byOperator, 4);
    await arrive(byAgent, 3);
    await arrive(byContractor, 2);
    await arrive(byOther, 1);
    expect(byAgent.events.map(({ type }) => type)).toEqual(["JOB_UPDATED", "JOB_ASSIGNED", "JOB_UPDATED"]);
    expect(byContractor.events).toEqual(byAgent.events.slice(1));
    expect(numbersOf(byOther.events)).toEqual([others]);
    expect(byOperator.events.slice(0, 3)).toEqual(byAgent.events);
  });

  it("is each event once, in the order of `events`, while batches run at the same time", async () => {
    const agent = await app.partner("agent");
    const numbers = await shownJobs(
      app,
      agent,
      Array.from({ length: 20 }, () => ({})),
    );
    const { cursor } = await lastEvent(agent, numbers.length);
    const following = await follow(app, agent.key);
    const batch = async (weight: number): Promise<void> => {
      const items = numbers.map((marking_number) => ({ marking_number, weight }));
      expectData(await patchBatch(app, agent, items));
    };
    await Promise.all([1, 2, 3, 4, 5].map(batch));
    await arrive(following, 100);
    expect(following.events).toEqual(await eventsAfter(agent, cursor));
  });

  it("is only what the filter and the types ask for, by the job as the change left it", async () => {
    const agent = await app.partner("agent");
    const [one = "", two = ""] = await shownJobs(app, agent, [{}, {}]);
    const all = await follow(app, agent.key);
    const heavy = await follow(app, agent.key, { filter: { weight: { gte: 10 } } });
    const delivered = await follow(app, agent.key, {
      filter: { statusCategory: ["SUCCESS"] },
      types: ["JOB_STATUS_CHANGED"],
    });
    await change(agent, one, 20);
    await change(agent, two, 5);
    expectData(await patchJob(app, agent, two, { normalized_status: "completed" }));
    await change(agent, one, 5);
    await arrive(all, 4);
    await arrive(heavy, 1);
    await arrive(delivered, 1);
    expect(heavy.events).toEqual(all.events.slice(0, 1));
    expect(delivered.events).toEqual(all.events.slice(2, 3));
  });

  it("is all of it: who comes back asks `events(after:)` with the last cursor for exactly what was missed", async () => {
    const agent = await app.partner("agent");
    const [number = ""] = await shownJobs(app, agent, [{}]);
    const first = await follow(app, agent.key);
    await change(agent, number, 1);
    await arrive(first, 1);
    first.stop();
    for (const weight of [2, 3, 4]) await change(agent, number, weight);
    await untilShown(app.database);
    const second = await follow(app, agent.key);
    await change(agent, number, 5);
    await arrive(second, 1);
    const missed = await eventsAfter(agent, first.events[0]?.cursor ?? "", 4);
    expect(missed.map(({ sequence }) => sequence)).toEqual([3, 4, 5, 6]);
    expect(missed.at(-1)).toEqual(second.events[0]);
  });

  it("on one socket, each of several subscriptions gets its own, and the end of one ends no other", async () => {
    const agent = await app.partner("agent");
    const [number = ""] = await shownJobs(app, agent, [{}]);
    const before = await standing(app);
    const client = liveClient(app, { authorization: `Bearer ${agent.key}` });
    const [one, two] = [subscribe(client), subscribe(client)];
    await vi.waitFor(async () => expect(await standing(app)).toBe(before + 2), 20_000);
    await change(agent, number, 1);
    await arrive(one, 1);
    one.stop();
    await vi.waitFor(async () => expect(await standing(app)).toBe(before + 1), 20_000);
    await change(agent, number, 2);
    await arrive(two, 2);
    expect(one.events).toHaveLength(1);
  });

  it("is whole for each of many who follow the same jobs: they do not ask the database all at once", async () => {
    const agent = await app.partner("agent");
    const [number = ""] = await shownJobs(app, agent, [{}]);
    const before = await standing(app);
    const followings = Array.from({ length: 16 }, () => liveClient(app, { "x-api-key": agent.key })).flatMap(
      (client) => Array.from({ length: 20 }, () => subscribe(client)),
    );
    await vi.waitFor(async () => expect(await standing(app)).toBe(before + 320), 20_000);
    await change(agent, number, 1);
    await vi.waitFor(() => {
      for (const { events } of followings) expect(numbersOf(events)).toEqual([number]);
    }, 20_000);
  });
});

async function lastEvent(agent: Partner, count: number): Promise<LiveEvent> {
  const events = await eventsAfter(agent, null, count);
  return events.at(-1) as LiveEvent;
}

/** The feed after a cursor, once it shows so many events. */
function eventsAfter(agent: Partner, after: string | null, count = 0): Promise<LiveEvent[]> {
  const query = `query ($after: String) { events(first: 100, after: $after) {
    nodes { id type sequence cursor job { markingNumber } } } }`;
  return vi.waitFor(
    async () => {
      const { events } = await ask(app, query, { key: agent.key, variables: { after } });
      expect(events.nodes.length).toBeGreaterThanOrEqual(count);
      return events.nodes as LiveEvent[];
    },
    { timeout: 20_000, interval: 50 },
  );
}

describe("who may come in", () => {
  it("4403 for no key, a wrong one, two different ones, and one without jobs:read, with the reason", async () => {
    const agent = await app.partner("agent", { scopes: ["jobs:write"] });
    const other = await app.partner("agent");
    const tried = [
      [undefined, "An API key is required, as x-api-key or as Authorization: Bearer"],
      [{ "x-api-key": "wmk_wrong" }, "The API key is not valid"],
      [{ "x-api-key": 7 }, "An API key is required, as x-api-key or as Authorization: Bearer"],
      [
        { "x-api-key": other.key, authorization: `Bearer ${agent.key}` },
        "x-api-key and Authorization hold two different keys; send one",
      ],
      [{ "x-api-key": agent.key }, "The API key lacks the scope jobs:read"],
    ] as const;
    for (const [payload, reason] of tried) {
      const socket = await openSocket(app);
      socket.send({ type: "connection_init", payload });
      expect(await socket.closed).toEqual({ code: 4403, reason });
    }
  });

  it("the key may be in the request's headers, and its name in any case", async () => {
    const agent = await app.partner("agent");
    const byHeader = await openSocket(app, { "X-API-Key": agent.key });
    byHeader.send({ type: "connection_init" });
    await byHeader.message("connection_ack");
    expect(byHeader.requestId).toMatch(/^req_/);
    const byPayload = await openSocket(app, { "x-api-key": "not used" });
    byPayload.send({ type: "connection_init", payload: { "X-Api-Key": agent.key } });
    await byPayload.message("connection_ack");
  });

  it("4401 for who subscribes before that, and 4406 for another protocol", async () => {
    const early = await openSocket(app);
    early.send(ofJobs("1"));
    expect(await early.closed).toMatchObject({ code: 4401 });
    const old = new WebSocket(socketUrl(app));
    onTestFinished(() => old.terminate());
    const code = await new Promise((resolve) => old.on("close", resolve));
    expect(code).toBe(4406);
  });

  it("a key that is bound to addresses is refused from elsewhere, which a proxy that is not trusted cannot hide", async () => {
    const agent = await app.partner("agent", { cidrs: ["203.0.113.0/24"] });
    const socket = await openSocket(app, { "x-forwarded-for": "203.0.113.7" });
    socket.send({ type: "connection_init", payload: { "x-api-key": agent.key } });
    expect(await socket.closed).toEqual({
      code: 4403,
      reason: "The API key may not be used from this address",
    });
    const behind = await startInstance(app.databaseUrl, { TRUST_PROXY: "1" });
    onTestFinished(() => behind[Symbol.asyncDispose]());
    const trusted = await openSocket(behind, { "x-forwarded-for": "198.51.100.1, 203.0.113.7" });
    trusted.send({ type: "connection_init", payload: { "x-api-key": agent.key } });
    await trusted.message("connection_ack");
  });

  it("403 for a page of another origin, unless CORS lets it in or it is our own", async () => {
    const refused = await refusedSocket(app, { origin: "https://evil.example" });
    expect(refused).toMatchObject({ status: 403, body: { errors: [{ extensions: { code: "FORBIDDEN" } }] } });
    expect(refused.body.errors[0]?.extensions.requestId).toMatch(/^req_/);
    await openSocket(app, { origin: app.url });
    await openSocket(app, { origin: "https://studio.apollographql.com" });
    const open = await startInstance(app.databaseUrl, {
      CORS_ORIGINS: "https://app.example.com",
      NODE_ENV: "production",
    });
    onTestFinished(() => open[Symbol.asyncDispose]());
    await openSocket(open, { origin: "https://app.example.com" });
    expect(await refusedSocket(open, { origin: "https://studio.apollographql.com" })).toMatchObject({
      status: 403,
    });
  });
});

describe("who may stay", () => {
  it("4403 within about a second for a key that is revoked, or has expired, or whose organisation is suspended", async () => {
    const { id } = await app.organizations.create({ name: `agent ${Math.random()}`, type: "agent" });
    const create = (expiresAt: Date | null = null) =>
      app.keys.create({ organizationId: id, name: "test", createdBy: "test", expiresAt });
    const [revoked, other] = [await create(), await create()];
    const expiring = await create(new Date(Date.now() + 3_000));
    const followings = [];
    for (const { text } of [revoked, other, expiring]) followings.push(await follow(app, text));
    const [ofRevoked, ofOther, ofExpiring] = followings.map(({ ended }) => ended);

    const startedMs = performance.now();
    await app.keys.revoke(revoked.key.id);
    expect(await ofRevoked).toMatchObject({ code: 4403, reason: "The API key is not valid" });
    expect(performance.now() - startedMs).toBeLessThan(3_000);
    expect(await ofExpiring).toMatchObject({ code: 4403, reason: "The API key has expired" });
    await app.keys.setSuspended(id, true);
    expect(await ofOther).toMatchObject({ code: 4403, reason: "The organisation is suspended" });
    expect(await figure(app, 'waymark_subscription_closes_total{code="4403"}')).toBeGreaterThanOrEqual(3);
  });
});

describe("what is refused", () => {
  it("queries and mutations, which go by POST, and the socket lives on", async () => {
    const agent = await app.partner("agent");
    const socket = await openKnownSocket(app, agent.key);
    for (const query of ["{ __typename }", "mutation { __typename }"]) {
      socket.messages.length = 0;
      socket.send({ type: "subscribe", id: "1", payload: { query } });
      const { payload } = await refusal(socket);
      expect(payload).toEqual([
        {
          message: "Send queries and mutations by POST",
          extensions: { code: "BAD_USER_INPUT", requestId: expect.stringMatching(/^req_/) },
        },
      ]);
    }
    socket.send(ofJobs("2"));
    await vi.waitFor(async () => expect(await standing(app)).toBeGreaterThan(0), 20_000);
  });

  it("documents that are wrong, too deep, too dear, or a bomb of fragments: with the code that HTTP has", async () => {
    const agent = await app.partner("agent");
    const socket = await openKnownSocket(app, agent.key);
    const bomb = Array.from(
      { length: 40 },
      (_, at) => `fragment F${at} on Job { id ...F${at + 1} history { nodes { job { ...F${at + 1} } } } }`,
    ).join(" ");
    const dear =
      "{ a: job { history(first: 100) { nodes { job { history(first: 100) { nodes { id } } } } } } }";
    const wrong: [string, string][] = [
      ["subscription {", "GRAPHQL_PARSE_FAILED"],
      ["subscription { nothing }", "GRAPHQL_VALIDATION_FAILED"],
      [
        "subscription { jobChanged { id } } subscription Other { jobChanged { id } }",
        "GRAPHQL_VALIDATION_FAILED",
      ],
      ["subscription A { jobChanged { id } } subscription B { jobChanged { id } }", "BAD_USER_INPUT"],
      [
        `subscription { jobChanged { ${"job { history { nodes { ".repeat(4)} id ${"} } } ".repeat(4)} } }`,
        "QUERY_TOO_EXPENSIVE",
      ],
      [`subscription { jobChanged ${dear} }`, "QUERY_TOO_EXPENSIVE"],
      [
        `subscription { jobChanged { job { ...F0 } } } ${bomb} fragment F40 on Job { id }`,
        "QUERY_TOO_EXPENSIVE",
      ],
      [`subscription { jobChanged(filter: { weight: { eq: null } }) { id } }`, "BAD_USER_INPUT"],
      ["subscription { jobChanged @skip(if: true) { id } }", "BAD_USER_INPUT"],
      [
        "subscription { ...F } fragment F on Subscription { ... @include(if: false) { jobChanged { id } } }",
        "BAD_USER_INPUT",
      ],
      ["subscription ($types: [JobEventType!]) { jobChanged(types: $types) { id } }", "BAD_USER_INPUT"],
    ];
    for (const [at, [query, code]] of wrong.entries()) {
      socket.messages.length = 0;
      socket.send({ type: "subscribe", id: String(at), payload: { query, variables: { types: ["NONE"] } } });
      const errors = await vi.waitFor(() => {
        const [message] = socket.messages;
        expect(message).toBeDefined();
        const payload = message?.["payload"] as ErrorMessage["payload"] | { errors: ErrorMessage["payload"] };
        return Array.isArray(payload) ? payload : payload.errors;
      }, 20_000);
      expect({ query, ...errors[0] }).toMatchObject({
        query,
        extensions: { code, requestId: expect.stringMatching(/^req_/) },
      });
    }
  });

  it("a subscription beyond those that one socket may hold, and an id that is no id", async () => {
    const agent = await app.partner("agent");
    const socket = await openKnownSocket(app, agent.key);
    const before = await standing(app);
    for (let at = 0; at < 20; at += 1) socket.send(ofJobs(String(at)));
    await vi.waitFor(async () => expect(await standing(app)).toBe(before + 20), 20_000);
    socket.send(ofJobs("one too many"));
    expect(await refusal(socket)).toMatchObject({
      id: "one too many",
      payload: [{ extensions: { code: "RATE_LIMITED" } }],
    });
    socket.messages.length = 0;
    socket.send({ type: "complete", id: "7" });
    socket.send(ofJobs("x".repeat(129)));
    expect(await refusal(socket)).toMatchObject({ payload: [{ extensions: { code: "BAD_USER_INPUT" } }] });
  });

  it("a subscription beyond those that one socket may hold, also where `complete` follows each at once", async () => {
    const agent = await app.partner("agent");
    const socket = await openKnownSocket(app, agent.key);
    await whileNoneCanBegin(async () => {
      for (let at = 0; at < 20; at += 1) {
        socket.send(ofJobs(String(at)));
        socket.send({ type: "complete", id: String(at) });
      }
      socket.send(ofJobs("one too many"));
      expect(await refusal(socket)).toMatchObject({
        id: "one too many",
        payload: [{ extensions: { code: "RATE_LIMITED" } }],
      });
    });
    // Those that were completed before they stood have ended: there is room again, and nothing else is told.
    await follow(app, agent.key);
    const before = await standing(app);
    for (let at = 20; at < 40; at += 1) socket.send(ofJobs(String(at)));
    await vi.waitFor(async () => expect(await standing(app)).toBe(before + 20), 20_000);
    await app.jobs(agent, [{}]);
    happened([agent.id]);
    await vi.waitFor(() => {
      const told = socket.messages.filter(({ type }) => type === "next").map(({ id }) => Number(id));
      expect(told.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, at) => at + 20));
    }, 20_000);
  });

  it("4409 for an id whose subscription still begins, also once `complete` was said of it", async () => {
    const agent = await app.partner("agent");
    const socket = await openKnownSocket(app, agent.key);
    const before = await standing(app);
    await whileNoneCanBegin(async () => {
      for (let at = 0; at < 60; at += 1) {
        socket.send(ofJobs("a"));
        socket.send({ type: "complete", id: "a" });
      }
      socket.send(ofJobs("a"));
      expect(await socket.closed).toEqual({ code: 4409, reason: "Subscriber for a already exists" });
    });
    const following = await follow(app, agent.key);
    expect(await standing(app)).toBe(before + 1);
    following.stop();
  });

  it("a socket beyond those that one organisation may hold with all its keys", async () => {
    const agent = await app.partner("agent");
    const create = () => app.keys.create({ organizationId: agent.id, name: "more", createdBy: "test" });
    for (let of = 0; of < 4; of += 1) {
      const { text } = await create();
      for (let at = 0; at < 5; at += 1)
        await Promise.all(Array.from({ length: 10 }, () => openKnownSocket(app, text)));
    }
    const socket = await openSocket(app);
    socket.send({ type: "connection_init", payload: { "x-api-key": agent.key } });
    expect(await socket.closed).toEqual({
      code: 4403,
      reason: "At most 200 WebSockets are open for one organisation",
    });
    await openKnownSocket(app, (await app.partner("agent")).key);
  });

  it("503 for more of one address than may stand at the door without a word, and for no other address", async () => {
    const open = await startInstance(app.databaseUrl, { TRUST_PROXY: "1" });
    onTestFinished(() => open[Symbol.asyncDispose]());
    const [first] = await Promise.all(
      Array.from({ length: 20 }, () => openSocket(open, from("203.0.113.7"))),
    );
    const { status, body } = await refusedSocket(open, from("203.0.113.7"));
    expect(status).toBe(503);
    expect(body.errors[0]?.message).toMatch(/^Too many WebSockets of this address/);
    await openSocket(open, from("203.0.113.8"));
    // Who says who it is, makes room.
    const agent = await app.partner("agent");
    first?.send({ type: "connection_init", payload: { "x-api-key": agent.key } });
    await first?.message("connection_ack");
    await openSocket(open, from("203.0.113.7"));
  });

  it("a socket beyond those that one key may hold", async () => {
    const agent = await app.partner("agent");
    for (let at = 0; at < 50; at += 1) await openKnownSocket(app, agent.key);
    const socket = await openSocket(app);
    socket.send({ type: "connection_init", payload: { "x-api-key": agent.key } });
    expect(await socket.closed).toEqual({
      code: 4403,
      reason: "At most 50 WebSockets are open with one key",
    });
  });

  it("503 for more than may stand at the door without a word, until some of them are gone", async () => {
    const crowded = await startInstance(app.databaseUrl, { TRUST_PROXY: "1" });
    onTestFinished(() => crowded[Symbol.asyncDispose]());
    const strangers = await Promise.all(
      Array.from({ length: 500 }, (_, at) =>
        openSocket(crowded, { "x-forwarded-for": `203.0.113.${at % 50}` }),
      ),
    );
    const { status, body } = await refusedSocket(crowded, {});
    expect(status).toBe(503);
    expect(body.errors[0]?.message).toBe("Too many WebSockets are open. Try again shortly");
    strangers[0]?.socket.terminate();
    await vi.waitFor(
      async () => expect(await figure(crowded, "waymark_subscription_sockets")).toBe(499),
      20_000,
    );
    await openSocket(crowded);
  });

  it("what takes more than the key's reading rate", async () => {
    const limited = await startInstance(app.databaseUrl, { RATE_LIMITS: "on" });
    onTestFinished(() => limited[Symbol.asyncDispose]());
    const agent = await app.partner("agent", { rateLimits: { read: { perSecond: 1, burst: 2 } } });
    const socket = await openKnownSocket(limited, agent.key);
    for (const id of ["1", "2", "3"]) socket.send(ofJobs(id));
    expect(await refusal(socket)).toMatchObject({
      id: "3",
      payload: [{ extensions: { code: "RATE_LIMITED" } }],
    });
  });

  it("messages that are no messages: 4400, and too large ones or too many: 1009 and 1008", async () => {
    const agent = await app.partner("agent");
    const closeOf = async (act: (socket: BareSocket) => void): Promise<number> => {
      const socket = await openKnownSocket(app, agent.key);
      act(socket);
      return (await socket.closed).code;
    };
    expect(await closeOf((socket) => socket.send("no json"))).toBe(4400);
    expect(await closeOf((socket) => socket.send({ type: "next", id: "1", payload: {} }))).toBe(4400);
    expect(await closeOf((socket) => socket.socket.send(Buffer.from("{}")))).toBe(4400);
    expect(await closeOf((socket) => socket.send({ type: "ping", payload: { a: "x".repeat(70_000) } }))).toBe(
      1009,
    );
    expect(await closeOf(talk)).toBe(1008);
    // Pings of WebSocket itself, faster than they can be answered: the connection is cut.
    expect([1006, 1008]).toContain(await closeOf(pingOn));
  });
});

describe("how it ends", () => {
  it("4413 for a client that reads nothing, while others get every event", async () => {
    const agent = await app.partner("agent");
    const numbers = await shownJobs(
      app,
      agent,
      Array.from({ length: 100 }, () => ({ patch: { instructions: "i".repeat(1_000) } })),
    );
    const quick = await follow(app, agent.key);
    const before = await standing(app);
    const slow = await openKnownSocket(app, agent.key);
    const aliases = Array.from({ length: 19 }, (_, at) => `a${at}: instructions`).join(" ");
    slow.send({
      type: "subscribe",
      id: "1",
      payload: { query: `subscription { jobChanged { job { ${aliases} } } }` },
    });
    await vi.waitFor(async () => expect(await standing(app)).toBe(before + 1), 20_000);
    slow.socket.pause();
    const closes = 'waymark_subscription_closes_total{code="4413"}';
    expect(await figure(app, closes)).toBe(0);
    for (let weight = 1; weight <= 10; weight += 1) {
      const items = numbers.map((marking_number) => ({ marking_number, weight }));
      expectData(await patchBatch(app, agent, items));
    }
    await vi.waitFor(async () => expect(await standing(app)).toBe(before), { timeout: 25_000, interval: 50 });
    slow.socket.resume();
    expect(await slow.closed).toEqual({
      code: 4413,
      reason: "Too slow: ask events(after:) for what was missed",
    });
    expect(slow.messages.length).toBeLessThan(1_000);
    await arrive(quick, 1_000);
    await vi.waitFor(async () => expect(await figure(app, closes)).toBe(1), 20_000);
  }, 60_000);

  it("1001 when the server stops, which does not wait for a client that says nothing any more", async () => {
    const agent = await app.partner("agent");
    const stopping = await startInstance(app.databaseUrl);
    const following = await follow(stopping, agent.key);
    const silent = await openKnownSocket(stopping, agent.key);
    silent.socket.pause();
    const startedMs = performance.now();
    await stopping[Symbol.asyncDispose]();
    expect(performance.now() - startedMs).toBeLessThan(10_000);
    expect(await following.ended).toMatchObject({ code: 1001, reason: "The server is stopping" });
  });
});
