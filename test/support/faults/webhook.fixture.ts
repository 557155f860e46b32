/** Organisations, webhook endpoints, jobs and real server processes for fault tests. */
import { randomBytes } from "node:crypto";
import { onTestFinished } from "vitest";
import { ApiKeyService } from "../../../src/api-keys/service.ts";
import { entities } from "../../../src/app/entities.ts";
import { createJobReferenceData } from "../../../src/jobs/reference-data.ts";
import { JobService } from "../../../src/jobs/service.ts";
import { upsertRows } from "../../../src/jobs/update/upsert.sql.ts";
import { OrganizationService } from "../../../src/organizations/service.ts";
import { AddressGuard } from "../../../src/core/http-client/address-guard.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { openDatabase, type Database } from "../../../src/core/postgres/database.ts";
import { fromTypedId } from "../../../src/core/ids.ts";
import { migrateDatabase } from "../../../src/core/postgres/migrate.ts";
import { createNotifier } from "../../../src/core/postgres/notify.ts";
import {
  systemActor,
  type OrganizationType,
  type OrganizationPrincipal,
} from "../../../src/core/principal.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { EndpointService } from "../../../src/webhooks/endpoints/service.ts";
import { DELIVERIES_CHANNEL } from "../../../src/webhooks/dispatcher/dispatcher.ts";
import { testSecretBox } from "../test-secret.ts";
import { startServerProcess, type ServerProcess } from "../processes/server-process.ts";
import { createTestDatabase } from "../database/test-database.ts";
import { createTestMongo } from "../database/test-mongo.ts";
import {
  startTestReceiver,
  type ReceivedRequest,
  type TestReceiver,
  type ReceiverResponder,
} from "../webhooks/receiver.ts";

export interface FaultOrganization extends OrganizationPrincipal {
  readonly key: string;
}

export interface FaultEndpoint {
  /** A UUID; `typedId` is the API's form of it. */
  readonly id: string;
  readonly typedId: string;
  readonly secret: string;
  readonly maxInFlight: number;
  /** Responds to the next requests. Tests can replace it. */
  respond: ReceiverResponder;
  received(): ReceivedRequest[];
}

export interface FaultEndpointOptions {
  owner?: FaultOrganization;
  eventTypes?: readonly string[];
  maxInFlight?: number;
  respond?: ReceiverResponder;
}

export interface FaultFixtureOptions {
  /** An empty database on a separate PostgreSQL. Default: a test database. */
  databaseUrl?: string;
  mongoUrl?: string;
  /** WEBHOOK_RETRY_SCHEDULE of the servers. */
  schedule?: string;
}

export interface FaultFixture {
  readonly database: Database;
  readonly databaseUrl: string;
  readonly mongoUrl: string;
  readonly agent: FaultOrganization;
  readonly contractor: FaultOrganization;
  readonly endpoints: readonly FaultEndpoint[];
  readonly endpointService: EndpointService;
  readonly receiver: TestReceiver;
  addEndpoint(options?: FaultEndpointOptions): Promise<FaultEndpoint>;
  /** Creates jobs of the agent, assigned to the contractor if requested, without notifying workers. Returns Marking Numbers. */
  addJobs(count: number, assigned?: "assigned"): Promise<string[]>;
  /** Updates a job through the job service, which notifies workers unless the mode is `silent`. */
  updateJob(markingNumber: string, weight: number, mode?: "silent"): Promise<boolean>;
  notifyWorkers(): void;
  /** Resolves when the server is ready. `env` overrides the default settings. */
  startServer(role: "api" | "worker" | "all", env?: Record<string, string>): Promise<ServerProcess>;
}

const SCHEDULE = "0s,1s,1s,2s,2s,5s,5s,5s";
/** High enough that only `maxInFlight` limits deliveries. */
const PER_SECOND = 1_000;
const MAX_IN_FLIGHT = 4;

/** Must be called in a test, which disposes it. */
export async function openFaultFixture(options: FaultFixtureOptions = {}): Promise<FaultFixture> {
  const stack = new AsyncDisposableStack();
  onTestFinished(() => stack.disposeAsync());
  const databaseUrl = options.databaseUrl ?? stack.use(await createTestDatabase()).url;
  const mongoUrl = options.mongoUrl ?? stack.use(createTestMongo()).url;
  if (options.databaseUrl) await migrateDatabase({ url: databaseUrl, poolSize: 2, entities });
  const database = stack.use(await openDatabase({ url: databaseUrl, poolSize: 6, entities }));
  const notifyWorkers = createNotifier(database, DELIVERIES_CHANNEL);
  const endpoints: FaultEndpoint[] = [];
  const receiver = stack.use(await startTestReceiver());
  receiver.respond = (received, response) => {
    const endpoint = endpoints[Number(received.path.slice(1))];
    return endpoint ? endpoint.respond(received, response) : { status: 404 };
  };
  const guard = new AddressGuard({ allowPrivate: true });
  const deps = {
    database,
    notifyWorkers,
    secretBox: testSecretBox,
    clock: systemClock,
    checkUrl: (_organizationId: string, url: string) => guard.checkUrl(url),
  };
  const endpointService = new EndpointService(deps);
  const agent = await createOrganization(database, "agent");
  const contractor = await createOrganization(database, "contractor");
  const settings = {
    DATABASE_URL: databaseUrl,
    MONGODB_URL: mongoUrl,
    WEBHOOK_ALLOW_PRIVATE: "on",
    WEBHOOK_RETRY_SCHEDULE: options.schedule ?? SCHEDULE,
    RATE_LIMITS: "off",
    LOG_LEVEL: "warn",
    ...compileCache(),
  };

  return {
    database,
    databaseUrl,
    mongoUrl,
    agent,
    contractor,
    endpoints,
    endpointService,
    receiver,
    notifyWorkers,
    async addEndpoint(endpointOptions = {}) {
      const endpoint = await makeEndpoint(
        { endpointService, receiver, agent },
        endpoints.length,
        endpointOptions,
      );
      endpoints.push(endpoint);
      return endpoint;
    },
    addJobs: (count, assigned) => makeJobs(database, count, { agent, contractor: assigned && contractor }),
    updateJob: createJobUpdater(database, agent, notifyWorkers),
    async startServer(role, env = {}) {
      const server = await startServerProcess({ ...settings, ...env, WAYMARK_ROLE: role });
      await server.waitUntilReady();
      return server;
    },
  };
}

/** Servers load in half of the time with the cache of the tests. There is none if coverage is measured. */
function compileCache(): Record<string, string> {
  const folder = process.env["NODE_COMPILE_CACHE"];
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: folder };
}

async function createOrganization(database: Database, type: OrganizationType): Promise<FaultOrganization> {
  const name = `${type} ${randomBytes(6).toString("hex")}`;
  const { id } = await new OrganizationService({ database }).create({ name, type });
  const keys = new ApiKeyService({ database, clock: systemClock });
  const { text } = await keys.create({ organizationId: id, name: "test", createdBy: "test" });
  return { organizationId: id, organizationType: type, actor: systemActor, key: text };
}

type EndpointDeps = Pick<FaultFixture, "endpointService" | "receiver" | "agent">;

async function makeEndpoint(
  { endpointService, receiver, agent }: EndpointDeps,
  index: number,
  { owner = agent, eventTypes, maxInFlight = MAX_IN_FLIGHT, respond = () => ({}) }: FaultEndpointOptions,
): Promise<FaultEndpoint> {
  const path = `/${index}`;
  const { endpoint, secret } = await endpointService.create(owner, {
    url: `http://127.0.0.1:${receiver.port}${path}`,
    perSecond: PER_SECOND,
    maxInFlight,
    ...(eventTypes && { eventTypes }),
  });
  return {
    id: fromTypedId("whe", endpoint.id) ?? "",
    typedId: endpoint.id,
    secret,
    maxInFlight,
    respond,
    received: () => receiver.received.filter((request) => request.path === path),
  };
}

async function makeJobs(
  database: Database,
  count: number,
  { agent, contractor }: { agent: FaultOrganization; contractor: FaultOrganization | undefined },
): Promise<string[]> {
  const upserts = Array.from({ length: count }, () => ({
    markingNumber: `MN-${randomBytes(8).toString("hex")}`,
    agentId: agent.organizationId,
    contractorId: contractor?.organizationId,
    patch: {},
  }));
  await database.transaction((tx) => upsertRows(tx, upserts, { actor: systemActor, requestId: null }));
  return upserts.map(({ markingNumber }) => markingNumber);
}

function createJobUpdater(
  database: Database,
  agent: FaultOrganization,
  notifyWorkers: () => void,
): FaultFixture["updateJob"] {
  const referenceData = createJobReferenceData(database);
  const [notifying, silent] = [notifyWorkers, () => undefined].map(
    (notify) =>
      new JobService({ database, referenceData, notifyWorkers: notify, notifySubscribers: () => undefined }),
  );
  return async (markingNumber, weight, mode) => {
    const context = { actor: systemActor, requestId: null, dryRun: false };
    const service = mode === "silent" ? silent : notifying;
    const { result } = (await service?.updateOne(agent, { markingNumber, body: { weight } }, context)) ?? {};
    if (result?.outcome === "failed") throw new Error(result.failure.message);
    return true;
  };
}

/** Updates a job over HTTP. Returns false unless the response is 200; the change may still have been applied. */
export async function patchWeight(
  { url }: Pick<ServerProcess, "url">,
  { key }: FaultOrganization,
  markingNumber: string,
  weight: number,
): Promise<boolean> {
  try {
    const response = await fetch(`${url}/v1/jobs/by-marking/${markingNumber}`, {
      method: "PATCH",
      headers: { "x-api-key": key, "content-type": "application/json" },
      body: JSON.stringify({ weight }),
      signal: AbortSignal.timeout(30_000),
    });
    await response.arrayBuffer();
    return response.status === 200;
  } catch {
    return false;
  }
}

/** Returns the number of committed job events. */
export async function countEvents({ database }: Pick<FaultFixture, "database">): Promise<number> {
  const [row] = await database.query<{ count: number }>(sql`select count(*)::int as count from job_event`);
  return row?.count ?? 0;
}

/** Returns the ids of the events that an endpoint received, in order. */
export const idsAt = (endpoint: FaultEndpoint): string[] =>
  endpoint.received().map(({ headers }) => String(headers["webhook-id"]));

/** Returns the sequences of the events that an endpoint received, in order. */
export function sequencesAt(endpoint: FaultEndpoint): number[] {
  return endpoint
    .received()
    .map(({ body }) => (JSON.parse(body) as { data: { sequence: number } }).data.sequence);
}
