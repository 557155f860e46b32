/** A world for the fault tests of webhooks: partners, endpoints, jobs and servers, all real, and a load of changes. */
import { randomBytes } from "node:crypto";
import { onTestFinished } from "vitest";
import { createApiKeyService } from "../../src/api-keys/api-key.service.ts";
import { entities } from "../../src/entities.ts";
import { createJobCodes } from "../../src/jobs/job.codes.ts";
import { createJobService } from "../../src/jobs/job.service.ts";
import { upsertRows } from "../../src/jobs/job.upsert.ts";
import { createOrganizationService } from "../../src/organizations/organization.service.ts";
import { createAddressGuard } from "../../src/platform/address-guard.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { openDatabase, type Database } from "../../src/platform/database.ts";
import { fromTypedId } from "../../src/platform/ids.ts";
import { migrateDatabase } from "../../src/platform/migrate.ts";
import { createNotifier } from "../../src/platform/notifications.ts";
import { systemActor, type OrganizationType, type Principal } from "../../src/platform/principal.ts";
import { sql } from "../../src/platform/sql.ts";
import { createEndpointService, type EndpointService } from "../../src/webhooks/endpoint.service.ts";
import { DELIVERIES_CHANNEL } from "../../src/webhooks/fan-out.service.ts";
import { testBox } from "./secret.ts";
import { startServer, type ServerProcess } from "./server-process.ts";
import { createTestDatabase } from "./test-database.ts";
import { createTestMongo } from "./test-mongo.ts";
import { startReceiver, type Received, type Receiver, type Respond } from "./webhook-receiver.ts";

export interface FaultPartner extends Principal {
  readonly key: string;
}

export interface FaultEndpoint {
  /** Its uuid, and the id that the API gives it. */
  readonly id: string;
  readonly typedId: string;
  /** Whoever signed with one of these is believed; the newest last. */
  readonly secrets: string[];
  readonly maxInFlight: number;
  /** What it answers from now on. */
  respond: Respond;
  received(): Received[];
}

export interface FaultEndpointOptions {
  owner?: FaultPartner;
  eventTypes?: readonly string[];
  maxInFlight?: number;
  respond?: Respond;
}

export interface FaultWorldOptions {
  /** A PostgreSQL of the test's own, with an empty database. */
  databaseUrl?: string;
  mongoUrl?: string;
  /** WEBHOOK_RETRY_SCHEDULE of its servers. */
  schedule?: string;
}

export interface FaultWorld {
  readonly database: Database;
  readonly databaseUrl: string;
  readonly mongoUrl: string;
  readonly agent: FaultPartner;
  readonly contractor: FaultPartner;
  readonly endpoints: readonly FaultEndpoint[];
  readonly endpointService: EndpointService;
  readonly receiver: Receiver;
  addEndpoint(options?: FaultEndpointOptions): Promise<FaultEndpoint>;
  /** New jobs of the agent's, given to the contractor where asked; nobody is notified. Answers with the Marking Numbers. */
  addJobs(count: number, assigned?: "assigned"): Promise<string[]>;
  /** A change of a job by the job service; workers are notified unless it is to be `unannounced`. */
  change(markingNumber: string, weight: number, how?: "unannounced"): Promise<boolean>;
  /** Tells workers that there may be something to deliver. */
  announce(): void;
  /** Resolves once it is ready. `env` comes over the usual settings. */
  start(role: "api" | "worker" | "all", env?: Record<string, string>): Promise<ServerProcess>;
}

const SCHEDULE = "0s,1s,1s,2s,2s,5s,5s,5s";
/** So that limits of an endpoint are no part of what is tested, but for how many are in flight. */
const PER_SECOND = 1_000;
const IN_FLIGHT = 4;

/** For one test, which ends all of it. */
export async function openFaultWorld(options: FaultWorldOptions = {}): Promise<FaultWorld> {
  const opened = new AsyncDisposableStack();
  onTestFinished(() => opened.disposeAsync());
  const databaseUrl = options.databaseUrl ?? opened.use(await createTestDatabase()).url;
  const mongoUrl = options.mongoUrl ?? opened.use(createTestMongo()).url;
  if (options.databaseUrl) await migrateDatabase({ url: databaseUrl, poolSize: 2, entities });
  const database = opened.use(await openDatabase({ url: databaseUrl, poolSize: 6, entities }));
  const announce = createNotifier(database, DELIVERIES_CHANNEL);
  const endpoints: FaultEndpoint[] = [];
  const receiver = opened.use(await startReceiver());
  receiver.respond = (received, response) => {
    const endpoint = endpoints[Number(received.path.slice(1))];
    return endpoint ? endpoint.respond(received, response) : { status: 404 };
  };
  const guard = createAddressGuard({ allowPrivate: true });
  const parts = {
    database,
    announce,
    box: testBox,
    clock: systemClock,
    checkUrl: (_organizationId: string, url: string) => guard.checkUrl(url),
  };
  const endpointService = createEndpointService(parts);
  const agent = await makePartner(database, "agent");
  const contractor = await makePartner(database, "contractor");
  const settings = {
    DATABASE_URL: databaseUrl,
    MONGODB_URL: mongoUrl,
    WEBHOOK_ALLOW_PRIVATE: "on",
    WEBHOOK_RETRY_SCHEDULE: options.schedule ?? SCHEDULE,
    RATE_LIMITS: "off",
    LOG_LEVEL: "warn",
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
    announce,
    async addEndpoint(given = {}) {
      const made = await makeEndpoint({ endpointService, receiver, agent }, endpoints.length, given);
      endpoints.push(made);
      return made;
    },
    addJobs: (count, assigned) => makeJobs(database, count, { agent, contractor: assigned && contractor }),
    change: changer(database, agent, announce),
    async start(role, env = {}) {
      const server = await startServer({ ...settings, ...env, WAYMARK_ROLE: role });
      await server.ready();
      return server;
    },
  };
}

async function makePartner(database: Database, type: OrganizationType): Promise<FaultPartner> {
  const name = `${type} ${randomBytes(6).toString("hex")}`;
  const { id } = await createOrganizationService({ database }).create({ name, type });
  const keys = createApiKeyService({ database, clock: systemClock });
  const { text } = await keys.create({ organizationId: id, name: "test", createdBy: "test" });
  return { organizationId: id, organizationType: type, actor: systemActor, key: text };
}

type EndpointParts = Pick<FaultWorld, "endpointService" | "receiver" | "agent">;

async function makeEndpoint(
  { endpointService, receiver, agent }: EndpointParts,
  at: number,
  { owner = agent, eventTypes, maxInFlight = IN_FLIGHT, respond = () => ({}) }: FaultEndpointOptions,
): Promise<FaultEndpoint> {
  const path = `/${at}`;
  const { endpoint, secret } = await endpointService.create(owner, {
    url: `http://127.0.0.1:${receiver.port}${path}`,
    perSecond: PER_SECOND,
    maxInFlight,
    ...(eventTypes && { eventTypes }),
  });
  return {
    id: fromTypedId("whe", endpoint.id) ?? "",
    typedId: endpoint.id,
    secrets: [secret],
    maxInFlight,
    respond,
    received: () => receiver.received.filter((one) => one.path === path),
  };
}

async function makeJobs(
  database: Database,
  count: number,
  { agent, contractor }: { agent: FaultPartner; contractor: FaultPartner | undefined },
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

function changer(database: Database, agent: FaultPartner, announce: () => void): FaultWorld["change"] {
  const codes = createJobCodes(database);
  const [loud, silent] = [announce, () => undefined].map((tell) =>
    createJobService({ database, codes, announce: tell, happened: () => undefined }),
  );
  return async (markingNumber, weight, how) => {
    const context = { actor: systemActor, requestId: null, dryRun: false };
    const service = how === "unannounced" ? silent : loud;
    await service?.updateOne(agent, { markingNumber, body: { weight } }, context);
    return true;
  };
}

/** A change of a job over HTTP; false where it was not answered with 200, whatever became of it. */
export async function patchWeight(
  { url }: Pick<ServerProcess, "url">,
  { key }: FaultPartner,
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

/** Counts a partner's changes that were committed, whoever made them. */
export async function countEvents({ database }: Pick<FaultWorld, "database">): Promise<number> {
  const [row] = await database.query<{ count: number }>(sql`select count(*)::int as count from job_event`);
  return row?.count ?? 0;
}
