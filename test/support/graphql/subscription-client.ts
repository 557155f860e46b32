/** Subscription clients: graphql-ws, and a raw WebSocket for messages that graphql-ws never sends. */
import { once } from "node:events";
import type { ClientRequest, IncomingMessage } from "node:http";
import { inspect } from "node:util";
import { createClient, type Client, type ClientOptions } from "graphql-ws";
import { expect, onTestFinished } from "vitest";
import { WebSocket } from "ws";
import { sql } from "../../../src/core/postgres/sql.ts";
import { waitUntilFeedIsComplete } from "../app/feed-client.ts";
import type { AppInstance } from "../app/app-instance.ts";
import type { TestOrganization, TestJob } from "../app/app.fixture.ts";
import type { SharedApp } from "../app/shared-app.ts";
import { eventually } from "../eventually.ts";

type Url = Pick<AppInstance, "url">;

export interface SubscriptionEvent {
  id: string;
  type: string;
  sequence: number;
  cursor: string;
  job: { markingNumber: string } | null;
}

export interface JobSubscription {
  /** Events received so far. */
  readonly events: SubscriptionEvent[];
  /** Resolves when the subscription ends, with its errors, the close event or null. */
  readonly ended: Promise<unknown>;
  /** What `ended` resolved with; undefined before. */
  endReason?: unknown;
  stop(): void;
}

export const JOB_CHANGED = `subscription ($filter: JobFilter, $types: [JobEventType!]) {
  jobChanged(filter: $filter, types: $types) { id type sequence cursor job { markingNumber } }
}`;

export const webSocketUrl = ({ url }: Url): string => `${url.replace("http", "ws")}/graphql`;

/**
 * Creates jobs and waits until the feed shows their events, so that later subscriptions do not receive them. Returns the
 * Marking Numbers.
 */
export async function createVisibleJobs(
  app: SharedApp,
  agent: TestOrganization,
  jobs: readonly TestJob[],
): Promise<string[]> {
  const numbers = await app.createJobs(agent, jobs);
  await waitUntilFeedIsComplete(app.database);
  return numbers;
}

/** Creates a client that does not reconnect. The test disposes it. */
export function createSubscriptionClient(
  app: Url,
  connectionParams?: Record<string, unknown>,
  on: NonNullable<ClientOptions["on"]> = {},
): Client {
  const client = createClient({
    url: webSocketUrl(app),
    webSocketImpl: WebSocket,
    retryAttempts: 0,
    on,
    ...(connectionParams && { connectionParams }),
  });
  onTestFinished(async () => client.dispose());
  return client;
}

/** Subscribes without waiting for the subscription to become active. */
export function subscribe(
  client: Client,
  variables: Record<string, unknown> = {},
  query = JOB_CHANGED,
): JobSubscription {
  const events: SubscriptionEvent[] = [];
  const { promise: ended, resolve } = Promise.withResolvers<unknown>();
  const stop = client.subscribe<{ jobChanged: SubscriptionEvent }>(
    { query, variables },
    {
      next: ({ data, errors }) => {
        if (errors) resolve(errors);
        if (data) events.push(data.jobChanged);
      },
      error: resolve,
      complete: () => resolve(null),
    },
  );
  const subscription: JobSubscription = { events, ended, stop };
  void ended.then((reason) => (subscription.endReason = reason));
  return subscription;
}

/** Subscribes over a new WebSocket and resolves when the server reports the subscription as active. */
export async function subscribeAndWait(
  app: Url,
  key: string,
  variables: Record<string, unknown> = {},
): Promise<JobSubscription> {
  const { promise: isActive, resolve: activate } = Promise.withResolvers<void>();
  const client = createSubscriptionClient(app, { "x-api-key": key }, onActive(activate));
  const subscription = subscribe(client, variables);
  const endedEarly = subscription.ended.then((reason) => {
    throw new Error(`The subscription did not start: ${inspect(reason)}`);
  });
  await Promise.race([isActive, endedEarly]);
  return subscription;
}

/** Returns listeners that call `report` for each subscription that the server reports as active. */
export function onActive(report: () => void): NonNullable<ClientOptions["on"]> {
  return {
    ping(isReceived, payload) {
      if (isReceived && payload && "subscribed" in payload) report();
    },
  };
}

/** Waits until exactly `count` events have been received. */
export async function waitForEventCount(
  subscription: Pick<JobSubscription, "events">,
  count: number,
): Promise<void> {
  await eventually(() => expect(subscription.events).toHaveLength(count));
}

/** Runs `act` while the event table is locked: subscriptions cannot start, because they read the feed first. */
export async function withFeedLocked(
  { database }: Pick<SharedApp, "database">,
  act: () => Promise<void>,
): Promise<void> {
  await database.transaction(async (tx) => {
    await tx.query(sql`lock table job_event in access exclusive mode`);
    await act();
  });
}

/** Returns the number of active subscriptions of a server, including those whose sockets are just closing. */
export const countSubscriptions = (app: Url): Promise<number> =>
  readMetric(app, "waymark_graphql_subscriptions");

/** Returns a value of /metrics by name and labels, or 0 if it is missing. */
export async function readMetric({ url }: Url, name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const line = text.split("\n").find((candidate) => candidate.startsWith(`${name} `));
  return Number(line?.slice(name.length) ?? 0);
}

export type RawWebSocket = Awaited<ReturnType<typeof openRawWebSocket>>;

/** Opens a WebSocket without sending `connection_init`. */
export async function openRawWebSocket(app: Url, headers: Record<string, string> = {}) {
  const socket = new WebSocket(webSocketUrl(app), "graphql-transport-ws", { headers });
  onTestFinished(() => socket.terminate());
  const messages: Record<string, unknown>[] = [];
  socket.on("message", (data) =>
    messages.push(JSON.parse((data as Buffer).toString()) as Record<string, unknown>),
  );
  const closed = once(socket, "close").then(([code, reason]) => ({
    code: code as number,
    reason: String(reason),
  }));
  const [[response]] = (await Promise.all([once(socket, "upgrade"), once(socket, "open")])) as [
    [IncomingMessage],
    unknown,
  ];
  return {
    socket,
    /** From the response to the upgrade request. */
    requestId: String(response.headers["x-request-id"]),
    messages,
    closed,
    send: (message: unknown) => socket.send(typeof message === "string" ? message : JSON.stringify(message)),
    /** Resolves with the first message of this type. */
    waitForMessage: (type: string) =>
      eventually(() => {
        const message = messages.find((candidate) => candidate["type"] === type);
        expect(message, `a message of the type ${type}`).toBeDefined();
        return message as Record<string, unknown>;
      }),
  };
}

/** Opens a WebSocket and sends `connection_init`, without waiting for the answer. */
export async function initWebSocket(
  app: Url,
  payload?: object,
  headers?: Record<string, string>,
): Promise<RawWebSocket> {
  const webSocket = await openRawWebSocket(app, headers);
  webSocket.send({ type: "connection_init", ...(payload && { payload }) });
  return webSocket;
}

/** Opens a WebSocket and authenticates it with an API key. */
export async function openAuthenticatedWebSocket(app: Url, key: string): Promise<RawWebSocket> {
  const webSocket = await initWebSocket(app, { "x-api-key": key });
  await webSocket.waitForMessage("connection_ack");
  return webSocket;
}

/** Resolves when the server has reported each of these subscriptions as active. */
export function waitUntilActive({ messages }: RawWebSocket, ids: readonly string[]): Promise<void> {
  return eventually(() => {
    const pings = messages.filter(({ type }) => type === "ping");
    const active = new Set(pings.map(({ payload }) => (payload as { subscribed: string }).subscribed));
    expect(ids.filter((id) => !active.has(id))).toEqual([]);
  });
}

/** The message that subscribes over a raw WebSocket. */
export function subscribeMessage(id: string): object {
  return { type: "subscribe", id, payload: { query: JOB_CHANGED } };
}

/** Attempts a WebSocket handshake and returns the HTTP response that rejects it. */
export async function openRejectedWebSocket(
  app: Url,
  headers: Record<string, string>,
): Promise<{
  status: number;
  body: { errors: { message: string; extensions: { code: string; requestId: string } }[] };
}> {
  const socket = new WebSocket(webSocketUrl(app), "graphql-transport-ws", { headers });
  onTestFinished(() => socket.terminate());
  socket.on("error", () => undefined);
  const [, response] = (await once(socket, "unexpected-response")) as [ClientRequest, IncomingMessage];
  const body = Buffer.concat(await response.toArray()).toString();
  return { status: response.statusCode ?? 0, body: JSON.parse(body) };
}
