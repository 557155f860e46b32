/** Clients of subscriptions: the one that partners use, and a bare WebSocket for what that one would never do. */
import { once } from "node:events";
import type { ClientRequest, IncomingMessage } from "node:http";
import { inspect } from "node:util";
import { createClient, type Client, type ClientOptions } from "graphql-ws";
import { expect, onTestFinished, vi } from "vitest";
import { WebSocket } from "ws";
import { sql } from "../../../src/platform/postgres/sql.ts";
import { waitUntilFeedIsComplete } from "../app/feed-client.ts";
import type { AppInstance } from "../app/app-instance.ts";
import type { TestOrganization, TestApp, TestJob } from "../app/app.fixture.ts";

type Url = Pick<AppInstance, "url">;

export interface SubscriptionEvent {
  id: string;
  type: string;
  sequence: number;
  cursor: string;
  job: { markingNumber: string } | null;
}

export interface JobSubscription {
  /** What came so far. */
  readonly events: SubscriptionEvent[];
  /** What the subscription ended with: errors, or how the socket was closed. Pending while it stands. */
  readonly ended: Promise<unknown>;
  stop(): void;
}

export const JOB_CHANGED = `subscription ($filter: JobFilter, $types: [JobEventType!]) {
  jobChanged(filter: $filter, types: $types) { id type sequence cursor job { markingNumber } }
}`;

export const webSocketUrl = ({ url }: Url): string => `${url.replace("http", "ws")}/graphql`;

/**
 * Makes jobs, and waits until the feed shows them: who subscribes before then is told of what they are about. Answers with
 * the Marking Numbers.
 */
export async function createVisibleJobs(
  app: TestApp,
  agent: TestOrganization,
  jobs: readonly TestJob[],
): Promise<string[]> {
  const numbers = await app.createJobs(agent, jobs);
  await waitUntilFeedIsComplete(app.database);
  return numbers;
}

/** One that does not come back by itself. */
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

/** Subscribes without waiting until that stands. */
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
  return { events, ended, stop };
}

/** Follows with a socket of its own, and resolves once it is told that it does. */
export async function subscribeAndWait(
  app: Url,
  key: string,
  variables: Record<string, unknown> = {},
): Promise<JobSubscription> {
  const { promise: isActive, resolve: activate } = Promise.withResolvers<void>();
  const client = createSubscriptionClient(
    app,
    { "x-api-key": key },
    { ping: (isReceived, payload) => void (isReceived && payload && "subscribed" in payload && activate()) },
  );
  const subscription = subscribe(client, variables);
  const refused = subscription.ended.then((reason) => {
    throw new Error(`The subscription does not stand: ${inspect(reason)}`);
  });
  await Promise.race([isActive, refused]);
  return subscription;
}

/** Waits until so many events have come. */
export async function waitForEventCount(
  following: Pick<JobSubscription, "events">,
  count: number,
): Promise<void> {
  await vi.waitFor(() => expect(following.events).toHaveLength(count), 20_000);
}

/** The feed cannot be read meanwhile, and without that no subscription begins. */
export async function withFeedLocked(
  { database }: Pick<TestApp, "database">,
  act: () => Promise<void>,
): Promise<void> {
  await database.transaction(async (tx) => {
    await tx.query(sql`lock table job_event in access exclusive mode`);
    await act();
  });
}

/** How many subscriptions stand in that process. */
export const countSubscriptions = (app: Url): Promise<number> =>
  readMetric(app, "waymark_graphql_subscriptions");

/** A figure of /metrics, by its name and labels. */
export async function readMetric({ url }: Url, name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const line = text.split("\n").find((candidate) => candidate.startsWith(`${name} `));
  return Number(line?.slice(name.length) ?? 0);
}

export interface RawWebSocket {
  readonly socket: WebSocket;
  /** As the answer to the upgrade told it. */
  readonly requestId: string;
  /** What came so far, read as JSON. */
  readonly messages: Record<string, unknown>[];
  /** How it was closed. */
  readonly closed: Promise<{ code: number; reason: string }>;
  send(message: unknown): void;
  /** Resolves with the first message of this type. */
  waitForMessage(type: string): Promise<Record<string, unknown>>;
}

/** A WebSocket that has opened. */
export async function openRawWebSocket(
  app: Url,
  headers: Record<string, string> = {},
  protocol = "graphql-transport-ws",
): Promise<RawWebSocket> {
  const socket = new WebSocket(webSocketUrl(app), protocol, { headers });
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
    requestId: String(response.headers["x-request-id"]),
    messages,
    closed,
    send: (message) => socket.send(typeof message === "string" ? message : JSON.stringify(message)),
    waitForMessage: (type) =>
      vi.waitFor(() => {
        const found = messages.find((message) => message["type"] === type);
        expect(found, `a message of the type ${type}`).toBeDefined();
        return found as Record<string, unknown>;
      }, 20_000),
  };
}

/** A WebSocket whose caller is known. */
export async function openAuthenticatedWebSocket(app: Url, key: string): Promise<RawWebSocket> {
  const bare = await openRawWebSocket(app);
  bare.send({ type: "connection_init", payload: { "x-api-key": key } });
  await bare.waitForMessage("connection_ack");
  return bare;
}

/** What subscribes on a bare socket. */
export function subscribeMessage(id: string): object {
  return { type: "subscribe", id, payload: { query: JOB_CHANGED } };
}

/** The answer in HTTP to a WebSocket that is not opened. */
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
