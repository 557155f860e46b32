/** The operations of partners. Each call sends one and returns the number of changes that it made. */
import { randomUUID } from "node:crypto";
import { operations as graphql } from "../graphql/operations.ts";
import { toUpdate } from "../graphql/workload.ts";
import type { LoadRequest } from "../load.ts";
import type { BenchOrganization } from "../seed.ts";
import { filterNames, type Workload } from "../workload.ts";
import type { HttpClient } from "./http-client.ts";
import type { OperationName } from "./plan.ts";
import type { ConsoleUsers } from "./console-users.ts";

export type Operation = () => Promise<number>;

export interface OperationDeps {
  client: HttpClient;
  workload: Workload;
  /** Largest first. */
  organizations: readonly BenchOrganization[];
  consoleUsers: ConsoleUsers;
}

const STATUSES = ["completed", "in_transit", "pending", "failed", "on_hold"];
const BATCH = 20;
const CONNECTION = `query Connection($after: String) {
  jobs(first: 20, after: $after, orderBy: {field: UPDATED_AT, direction: DESC}) {
    totalCount
    pageInfo { hasNextPage endCursor }
    nodes { id markingNumber normalizedStatus updatedAt agent { name } history(first: 3) { nodes { type occurredAt } } }
  }
}`;

interface Envelope<Data> {
  data: Data;
}

export function createOperations(parts: OperationDeps): Record<OperationName, Operation> {
  const { client, workload, organizations, consoleUsers } = parts;
  let turn = 0;
  const next = (): number => (turn += 1);
  const someKey = (): string => (organizations[next() % organizations.length] as BenchOrganization).key;
  const reading =
    (request: () => LoadRequest | undefined): Operation =>
    async () => {
      await client.sendOk(request() as LoadRequest);
      return 0;
    };
  const listing = (pageSize: number): Operation =>
    reading(() => workload.lists(1, pageSize, [filterNames[next() % filterNames.length] ?? "none"])[0]);
  return {
    "list of 10": listing(10),
    "list of 100": listing(100),
    async "PATCH one"() {
      await client.sendOk(workload.updates(1)[0] as LoadRequest);
      return 1;
    },
    "PATCH one, twice with its Idempotency-Key": () =>
      sendIdempotentTwice(client, workload.updates(1)[0] as LoadRequest),
    async "PATCH batch of 20"() {
      const answer = await client.sendOk(workload.batches(1, BATCH)[0] as LoadRequest);
      return (answer as unknown as Envelope<{ updated_count: number }>).data.updated_count;
    },
    async "GraphQL updateJobs of 20"() {
      const answer = await client.sendOk(toUpdate(workload.batches(1, BATCH)[0] as LoadRequest));
      return (answer as unknown as Envelope<{ updateJobs: { updatedCount: number } }>).data.updateJobs
        .updatedCount;
    },
    "GraphQL dashboard": reading(() =>
      graphql.dashboard(someKey(), STATUSES[next() % STATUSES.length] ?? "pending"),
    ),
    "GraphQL connections": () => readTwoPages(client, someKey()),
    "GraphQL jobStats": reading(() => graphql.stats(someKey())),
    "event feed": followFeed(client, organizations),
    history: reading(() => {
      const { path, key } = workload.updates(1)[0] as LoadRequest;
      return { method: "GET", path: `${path}/history`, key };
    }),
    "console visit": async () => {
      await consoleUsers.visit();
      return 0;
    },
  };
}

/** Sends a PATCH twice with one key, to any API: the second response must equal the first, and it must change nothing. */
async function sendIdempotentTwice(client: HttpClient, request: LoadRequest): Promise<number> {
  const headers = { "x-api-key": request.key, "idempotency-key": randomUUID() };
  const [first, second] = [await client.send(request, headers), await client.send(request, headers)];
  if (first.status !== 200) throw new Error(`${first.status} ${first.body.slice(0, 200)}`);
  // Every response has its own request id.
  const [original, repeated] = [first, second].map(({ body }) => body.replace(/"request_id":"\w+"/, ""));
  if (repeated !== original)
    throw new Error(`The repeated request got another response: ${second.body.slice(0, 200)}`);
  return 1;
}

/** Reads two pages of a connection; the second starts at the first page's end cursor. */
async function readTwoPages(client: HttpClient, key: string): Promise<number> {
  type Page = Envelope<{ jobs: { pageInfo: { endCursor: string | null } } }>;
  const page = (after: string | null): LoadRequest => ({
    method: "POST",
    path: "/graphql",
    key,
    body: JSON.stringify({ query: CONNECTION, variables: { after } }),
  });
  const first = (await client.sendOk(page(null))) as unknown as Page;
  await client.sendOk(page(first.data.jobs.pageInfo.endCursor));
  return 0;
}

/** Polls the feed for some organisations, each from its last cursor. */
function followFeed(client: HttpClient, organizations: readonly BenchOrganization[]): Operation {
  const readers = organizations.slice(0, 10).map(({ key }) => ({ key, after: "" }));
  let turn = 0;
  return async () => {
    turn += 1;
    const reader = readers[turn % readers.length] as (typeof readers)[number];
    const from = reader.after === "" ? "" : `&after=${encodeURIComponent(reader.after)}`;
    const answer = await client.sendOk({
      method: "GET",
      path: `/v1/events?page_size=50${from}`,
      key: reader.key,
    });
    const { next_cursor: after } = (answer as unknown as Envelope<{ next_cursor: string | null }>).data;
    reader.after = after ?? reader.after;
    return 0;
  };
}
