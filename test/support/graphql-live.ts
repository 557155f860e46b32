/** Clients of subscriptions: the one that partners use, and a bare WebSocket for what that one would never do. */
import { once } from "node:events";
import type { ClientRequest, IncomingMessage } from "node:http";
import { inspect } from "node:util";
import { createClient, type Client, type ClientOptions } from "graphql-ws";
import { expect, onTestFinished, vi } from "vitest";
import { WebSocket } from "ws";
import { sql } from "../../src/platform/sql.ts";
import { untilShown } from "./feed.ts";
import type { Instance } from "./instance.ts";
import type { Partner, TestApp, TestJob } from "./start-app.ts";

type Url = Pick<Instance, "url">;

export interface LiveEvent {
  id: string;
  type: string;
  sequence: number;
  cursor: string;
  job: { markingNumber: string } | null;
}

export interface Following {
  /** What came so far. */
  readonly events: LiveEvent[];
  /** What the subscription ended with: errors, or how the socket was closed. Pending while it stands. */
  readonly ended: Promise<unknown>;
  stop(): void;
}

export const JOB_CHANGED = `subscription ($filter: JobFilter, $types: [JobEventType!]) {
  jobChanged(filter: $filter, types: $types) { id type sequence cursor job { markingNumber } }
}`;

export const socketUrl = ({ url }: Url): string => `${url.replace("http", "ws")}/graphql`;

/**
 * Makes jobs, and waits until the feed shows them: who subscribes before then is told of what they are about. Answers with
 * the Marking Numbers.
 */
export async function shownJobs(app: TestApp, agent: Partner, jobs: readonly TestJob[]): Promise<string[]> {
  const numbers = await app.jobs(agent, jobs);
  await untilShown(app.database);
  return numbers;
}

/** One that does not come back by itself. */
export function liveClient(
  app: Url,
  connectionParams?: Record<string, unknown>,
  on: NonNullable<ClientOptions["on"]> = {},
): Client {
  const client = createClient({
    url: socketUrl(app),
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
): Following {
  const events: LiveEvent[] = [];
  const { promise: ended, resolve } = Promise.withResolvers<unknown>();
  const stop = client.subscribe<{ jobChanged: LiveEvent }>(
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
export async function follow(
  app: Url,
  key: string,
  variables: Record<string, unknown> = {},
): Promise<Following> {
  const { promise: stands, resolve: stand } = Promise.withResolvers<void>();
  const client = liveClient(
    app,
    { "x-api-key": key },
    { ping: (isReceived, payload) => void (isReceived && payload && "subscribed" in payload && stand()) },
  );
  const following = subscribe(client, variables);
  const refused = following.ended.then((reason) => {
    throw new Error(`The subscription does not stand: ${inspect(reason)}`);
  });
  await Promise.race([stands, refused]);
  return following;
}

/** Waits until so many events have come. */
export async function arrive(following: Pick<Following, "events">, count: number): Promise<void> {
  await vi.waitFor(() => expect(following.events).toHaveLength(count), 20_000);
}

/** The feed cannot be read meanwhile, and without that no subscription begins. */
export async function whileNoneCanBegin(
  { database }: Pick<TestApp, "database">,
  act: () => Promise<void>,
): Promise<void> {
  await database.transaction(async (tx) => {
    await tx.query(sql`lock table job_event in access exclusive mode`);
    await act();
  });
}

/** How many subscriptions stand in that process. */
export const standing = (app: Url): Promise<number> => figure(app, "waymark_subscriptions");

/** A figure of /metrics, by its name and labels. */
export async function figure({ url }: Url, name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const line = text.split("\n").find((candidate) => candidate.startsWith(`${name} `));
  return Number(line?.slice(name.length) ?? 0);
}

export interface BareSocket {
  readonly socket: WebSocket;
  /** As the answer to the upgrade told it. */
  readonly requestId: string;
  /** What came so far, read as JSON. */
  readonly messages: Record<string, unknown>[];
  /** How it was closed. */
  readonly closed: Promise<{ code: number; reason: string }>;
  send(message: unknown): void;
  /** Resolves with the first message of this type. */
  message(type: string): Promise<Record<string, unknown>>;
}

/** A WebSocket that has opened. */
export async function openSocket(
  app: Url,
  headers: Record<string, string> = {},
  protocol = "graphql-transport-ws",
): Promise<BareSocket> {
  const socket = new WebSocket(socketUrl(app), protocol, { headers });
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
    message: (type) =>
      vi.waitFor(() => {
        const found = messages.find((message) => message["type"] === type);
        expect(found, `a message of the type ${type}`).toBeDefined();
        return found as Record<string, unknown>;
      }, 20_000),
  };
}

/** A WebSocket whose caller is known. */
export async function openKnownSocket(app: Url, key: string): Promise<BareSocket> {
  const bare = await openSocket(app);
  bare.send({ type: "connection_init", payload: { "x-api-key": key } });
  await bare.message("connection_ack");
  return bare;
}

/** What subscribes on a bare socket. */
export function ofJobs(id: string): object {
  return { type: "subscribe", id, payload: { query: JOB_CHANGED } };
}

/** The answer in HTTP to a WebSocket that is not opened. */
export async function refusedSocket(
  app: Url,
  headers: Record<string, string>,
): Promise<{
  status: number;
  body: { errors: { message: string; extensions: { code: string; requestId: string } }[] };
}> {
  const socket = new WebSocket(socketUrl(app), "graphql-transport-ws", { headers });
  onTestFinished(() => socket.terminate());
  socket.on("error", () => undefined);
  const [, response] = (await once(socket, "unexpected-response")) as [ClientRequest, IncomingMessage];
  const body = Buffer.concat(await response.toArray()).toString();
  return { status: response.statusCode ?? 0, body: JSON.parse(body) };
}
