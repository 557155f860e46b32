/** Rejections on subscription sockets: invalid documents and messages, and exceeded limits. */
import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { WebSocket } from "ws";
import { createEventNotifier } from "../../src/events/tail.ts";
import { sql } from "../../src/core/postgres/sql.ts";
import {
  subscribeAndWait,
  subscribeMessage,
  openAuthenticatedWebSocket,
  initWebSocket,
  openRawWebSocket,
  openRejectedWebSocket,
  countSubscriptions,
  waitUntilActive,
  webSocketUrl,
  withFeedLocked,
  type RawWebSocket,
} from "../support/graphql/subscription-client.ts";
import { startAppInstance, type AppInstance } from "../support/app/app-instance.ts";
import { sendBytes } from "../support/app/raw-http-client.ts";
import { sharedApp, type SharedApp } from "../support/app/shared-app.ts";
import { eventually } from "../support/eventually.ts";

let app: SharedApp;
/** Its metrics and its unauthenticated sockets are those of this file. */
let own: AppInstance;
let happened: (organizationIds: readonly string[]) => void;
beforeAll(async () => {
  app = await sharedApp("api");
  own = await startAppInstance(app.databaseUrl, {
    WAYMARK_ROLE: "api",
    TRUST_PROXY: "1",
    RATE_LIMITS: "on",
  });
  happened = createEventNotifier(app.database);
});
afterAll(() => own[Symbol.asyncDispose]());

function talk(socket: RawWebSocket): void {
  for (let index = 0; index < 300; index += 1) socket.send({ type: "ping" });
}

function pingOn({ socket }: RawWebSocket): void {
  for (let index = 0; index < 300; index += 1) socket.ping();
}

/** Returns 20 IDs, the limit per socket. */
const idsFrom = (first: number): string[] => Array.from({ length: 20 }, (_, index) => String(first + index));

/** Headers of a request forwarded by a proxy. */
const from = (address: string): Record<string, string> => ({ "x-forwarded-for": address });

interface ErrorMessage {
  id: string;
  payload: { message: string; extensions: Record<string, unknown> }[];
}

const refusal = async (socket: RawWebSocket): Promise<ErrorMessage> =>
  (await socket.waitForMessage("error")) as unknown as ErrorMessage;

it("opens a socket at the same paths as requests, and at no other", async () => {
  const paths = ["/", "/?a=b", "/more", "//"];
  const opened = paths.map(async (path) => {
    const socket = new WebSocket(`${webSocketUrl(app)}${path}`, "graphql-transport-ws");
    onTestFinished(() => socket.terminate());
    return await once(socket, "open").then(
      () => true,
      () => false,
    );
  });
  expect(await Promise.all(opened)).toEqual([true, true, false, false]);
});

/** Returns the response to an upgrade request. */
const upgrade = (path: string, protocol: string) =>
  sendBytes(
    app.url,
    `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, close\r\nUpgrade: ${protocol}\r\nAccept: application/json\r\n\r\n`,
  );

it("answers an upgrade to another protocol or at another path as plain HTTP", async () => {
  // Java's client requests HTTP/2 this way and expects a normal response.
  expect(await upgrade("/health/live", "h2c")).toContain("HTTP/1.1 200");
  expect(await upgrade("/graphql", "h2c")).toContain("HTTP/1.1 400");
  expect(await upgrade("/health/live", "websocket")).toContain("HTTP/1.1 200");
  expect(await upgrade("/v1/jobs", "websocket")).toContain("HTTP/1.1 401");
});

describe("a subscription socket rejects", () => {
  it("queries and mutations, and stays open", async () => {
    const agent = await app.createOrganization("agent");
    const socket = await openAuthenticatedWebSocket(app, agent.key);
    for (const query of ["{ __typename }", "mutation { __typename }"]) {
      socket.messages.length = 0;
      socket.send({ type: "subscribe", id: "1", payload: { query } });
      const { payload } = await refusal(socket);
      expect(payload).toEqual([
        {
          message: "Send queries and mutations by POST",
          extensions: {
            code: "BAD_USER_INPUT",
            requestId: expect.stringMatching(/^req_/),
            docUrl: `${app.url}/guide/errors#bad_user_input`,
          },
        },
      ]);
    }
    socket.send(subscribeMessage("2"));
    await waitUntilActive(socket, ["2"]);
  });

  it("invalid and too expensive documents, with the codes of HTTP", async () => {
    const agent = await app.createOrganization("agent");
    const socket = await openAuthenticatedWebSocket(app, agent.key);
    const dear =
      "{ a: job { history(first: 100) { nodes { job { history(first: 100) { nodes { id } } } } } } }";
    const wrong: [string, string][] = [
      ["subscription {", "GRAPHQL_PARSE_FAILED"],
      ["subscription { nothing }", "GRAPHQL_VALIDATION_FAILED"],
      [
        "subscription A { jobChanged { id } } subscription B { jobChanged { id } }",
        "OPERATION_RESOLUTION_FAILURE",
      ],
      [`subscription { jobChanged ${dear} }`, "QUERY_TOO_EXPENSIVE"],
      [`subscription { jobChanged(filter: { weight: { eq: null } }) { id } }`, "BAD_USER_INPUT"],
      ["subscription { jobChanged @skip(if: true) { id } }", "BAD_USER_INPUT"],
      [
        "subscription { ...F } fragment F on Subscription { ... @include(if: false) { jobChanged { id } } }",
        "BAD_USER_INPUT",
      ],
    ];
    for (const [index, [query, code]] of wrong.entries()) {
      socket.messages.length = 0;
      socket.send({ type: "subscribe", id: String(index), payload: { query } });
      const errors = await eventually(() => {
        const [message] = socket.messages;
        expect(message).toBeDefined();
        const payload = message?.["payload"] as ErrorMessage["payload"] | { errors: ErrorMessage["payload"] };
        return Array.isArray(payload) ? payload : payload.errors;
      });
      expect({ query, ...errors[0] }).toMatchObject({
        query,
        extensions: { code, requestId: expect.stringMatching(/^req_/) },
      });
    }
  });

  it("a subscription over its limit, even if `complete` follows each immediately", async () => {
    const agent = await app.createOrganization("agent");
    const socket = await openAuthenticatedWebSocket(app, agent.key);
    await withFeedLocked(app, async () => {
      for (const id of idsFrom(0)) {
        socket.send(subscribeMessage(id));
        socket.send({ type: "complete", id });
      }
      socket.send(subscribeMessage("one too many"));
      expect(await refusal(socket)).toMatchObject({
        id: "one too many",
        payload: [{ extensions: { code: "RATE_LIMITED" } }],
      });
    });
    // Subscriptions completed before they were active have ended and freed their slots.
    await subscribeAndWait(app, agent.key);
    const those = idsFrom(20);
    for (const id of those) socket.send(subscribeMessage(id));
    await waitUntilActive(socket, those);
    socket.send(subscribeMessage("again too many"));
    await eventually(() =>
      expect(socket.messages.filter(({ type }) => type === "error")).toMatchObject([
        { id: "one too many" },
        { id: "again too many", payload: [{ extensions: { code: "RATE_LIMITED" } }] },
      ]),
    );
    await app.createJobs(agent, [{}]);
    happened([agent.id]);
    await eventually(() => {
      const receivedIds = socket.messages.filter(({ type }) => type === "next").map(({ id }) => String(id));
      expect(receivedIds.toSorted()).toEqual(those);
    });
    const pings = socket.messages.filter(({ type }) => type === "ping");
    expect(pings.map(({ payload }) => payload)).toEqual(
      expect.arrayContaining(those.map((subscribed) => ({ subscribed, cursor: expect.any(String) }))),
    );
    expect(pings).toHaveLength(those.length);
  });

  it("a subscription over its limit, even if its ID was used again before the first had started", async () => {
    const agent = await app.createOrganization("agent");
    const socket = await openAuthenticatedWebSocket(app, agent.key);
    const ids = idsFrom(0).slice(0, 10);
    await withFeedLocked(app, async () => {
      for (const id of ids) {
        socket.send(subscribeMessage(id));
        socket.send({ type: "complete", id });
        socket.send(subscribeMessage(id));
      }
      socket.send({ type: "ping" });
      await socket.waitForMessage("pong");
    });
    await eventually(() =>
      expect(socket.messages.filter(({ type }) => type === "ping")).toHaveLength(2 * ids.length),
    );
    // Both subscriptions of an ID are active, although graphql-ws knows only the second.
    socket.send(subscribeMessage("one too many"));
    expect(await refusal(socket)).toMatchObject({
      id: "one too many",
      payload: [{ extensions: { code: "RATE_LIMITED" } }],
    });
  });

  it("a subscription that cannot start for now, with 1013", async () => {
    const agent = await app.createOrganization("agent");
    const socket = await openAuthenticatedWebSocket(app, agent.key);
    let closed: unknown = null;
    void socket.closed.then((how) => (closed = how));
    await withFeedLocked(app, async () => {
      socket.send(subscribeMessage("a"));
      await eventually(async () => {
        await app.database.query(sql`select pg_terminate_backend(pid) from pg_locks
          where not granted and database = (select oid from pg_database where datname = current_database())`);
        expect(closed).toMatchObject({ code: 1013 });
      });
    });
  });

  it("the ID of a subscription that the client has not completed, with 4409", async () => {
    const agent = await app.createOrganization("agent");
    const socket = await openAuthenticatedWebSocket(own, agent.key);
    await withFeedLocked(app, async () => {
      socket.send(subscribeMessage("a"));
      socket.send(subscribeMessage("a"));
      expect(await socket.closed).toEqual({ code: 4409, reason: "Subscriber for a already exists" });
    });
    await subscribeAndWait(own, agent.key);
    await eventually(async () => expect(await countSubscriptions(own)).toBe(1));
  });

  it("a socket over the limit of the key, or of all keys of the organisation", async () => {
    const agent = await app.createOrganization("agent");
    const create = () => app.keys.create({ organizationId: agent.id, name: "more", createdBy: "test" });
    const refuse = async (key: string, reason: string) => {
      const socket = await initWebSocket(app, { "x-api-key": key });
      expect(await socket.closed).toEqual({ code: 4403, reason });
    };
    for (let of = 0; of < 4; of += 1) {
      const { text } = await create();
      for (let index = 0; index < 5; index += 1)
        await Promise.all(Array.from({ length: 10 }, () => openAuthenticatedWebSocket(app, text)));
      if (of === 0) await refuse(text, "An API key can have at most 50 open WebSockets");
    }
    await refuse(agent.key, "An organisation can have at most 200 open WebSockets");
    await openAuthenticatedWebSocket(app, (await app.createOrganization("agent")).key);
  });

  // evidence: websocket-unauthenticated-limit-per-ip
  it("unauthenticated sockets over the limit per IP address, with 503, and only for that IP address", async () => {
    const [first] = await Promise.all(
      Array.from({ length: 20 }, () => openRawWebSocket(app, from("203.0.113.7"))),
    );
    const { status, body } = await openRejectedWebSocket(app, from("203.0.113.7"));
    expect(status).toBe(503);
    expect(body.errors[0]?.message).toMatch(/^Too many unauthenticated WebSockets/);
    await openRawWebSocket(app, from("203.0.113.8"));
    // An authenticated socket no longer counts.
    const agent = await app.createOrganization("agent");
    first?.send({ type: "connection_init", payload: { "x-api-key": agent.key } });
    await first?.waitForMessage("connection_ack");
    await openRawWebSocket(app, from("203.0.113.7"));
  });

  // evidence: websocket-unauthenticated-limit-ipv6-network
  it("unauthenticated sockets over the limit per IPv6 /64, with 503, and only for that /64", async () => {
    await Promise.all(
      Array.from({ length: 20 }, (_, host) => openRawWebSocket(app, from(`2001:db8:0:7::${host + 1}`))),
    );
    const { status, body } = await openRejectedWebSocket(app, from("2001:db8:0:7:ffff::1"));
    expect(status).toBe(503);
    expect(body.errors[0]?.message).toMatch(/^Too many unauthenticated WebSockets/);
    await openRawWebSocket(app, from("2001:db8:0:8::1"));
  });

  it("unauthenticated sockets over the total limit, with 503, until some close", async () => {
    const outsiders = await Promise.all(
      Array.from({ length: 500 }, (_, index) =>
        openRawWebSocket(own, { "x-forwarded-for": `203.0.113.${index % 50}` }),
      ),
    );
    const { status, body } = await openRejectedWebSocket(own, {});
    expect(status).toBe(503);
    expect(body.errors[0]?.message).toBe("Too many WebSockets are open. Try again shortly");
    outsiders[0]?.socket.terminate();
    await eventually(() => openRawWebSocket(own));
  });

  it("requests over the read rate of the key", async () => {
    const agent = await app.createOrganization("agent", { rateLimits: { read: { perSecond: 1, burst: 2 } } });
    const socket = await openAuthenticatedWebSocket(own, agent.key);
    for (const id of ["1", "2", "3"]) socket.send(subscribeMessage(id));
    expect(await refusal(socket)).toMatchObject({
      id: "3",
      payload: [{ extensions: { code: "RATE_LIMITED" } }],
    });
  });

  // evidence: websocket-message-limits
  it("invalid messages with 4400, large ones with 1009 and too many with 1008", async () => {
    const agent = await app.createOrganization("agent");
    const closeOf = async (act: (socket: RawWebSocket) => void): Promise<number> => {
      const socket = await openAuthenticatedWebSocket(app, agent.key);
      act(socket);
      return (await socket.closed).code;
    };
    expect(await closeOf((socket) => socket.send("no json"))).toBe(4400);
    expect(await closeOf((socket) => socket.send({ type: "next", id: "1", payload: {} }))).toBe(4400);
    expect(await closeOf((socket) => socket.send({ type: "ping", payload: { a: "x".repeat(70_000) } }))).toBe(
      1009,
    );
    expect(await closeOf(talk)).toBe(1008);
    // WebSocket pings, faster than they can be answered, cut the connection.
    expect([1006, 1008]).toContain(await closeOf(pingOn));
  });
});
