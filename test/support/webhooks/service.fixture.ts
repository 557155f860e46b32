/** The webhook services on a new database, without a worker that delivers. */
import { randomBytes } from "node:crypto";
import { entities } from "../../../src/app/entities.ts";
import { upsertRows } from "../../../src/jobs/update/upsert.sql.ts";
import { AppError } from "../../../src/core/errors.ts";
import { OrganizationService } from "../../../src/organizations/service.ts";
import { type Database, openDatabase, type Queryable } from "../../../src/core/postgres/database.ts";
import {
  systemActor,
  type OrganizationType,
  type OrganizationPrincipal,
} from "../../../src/core/principal.ts";
import { sql, type Sql } from "../../../src/core/postgres/sql.ts";
import type { TokenRate } from "../../../src/core/concurrency/token-bucket.ts";
import { openWebhooks } from "../../../src/webhooks/service.ts";
import { createFakeClock } from "../fake-clock.ts";
import { testSecretBox } from "../test-secret.ts";
import { createTestDatabase } from "../database/test-database.ts";
import { useFixture } from "../use-fixture.ts";

export type WebhookServiceFixture = Awaited<ReturnType<typeof openWebhookServiceFixture>>;

export interface StoredDelivery {
  id: string;
  event_id: string;
  event_type: string;
  origin: string;
  status: string;
  attempts: number;
}

interface WebhookServiceOptions {
  retentionDays?: number;
  replayRate?: TokenRate;
}

/** The database, which also records the statements about deliveries. */
export function listening({ database }: Pick<WebhookServiceFixture, "database">, texts: string[]): Database {
  const heard = <T extends Queryable>(queryable: T, replacements: object = {}): T =>
    new Proxy(queryable, {
      get(target, name) {
        const replaced: unknown = Reflect.get({ query, ...replacements }, name);
        if (typeof replaced === "function") return replaced;
        const member: unknown = Reflect.get(target, name, target);
        return typeof member === "function" ? (member.bind(target) as unknown) : member;

        async function query<Row>(statement: Sql): Promise<Row[]> {
          const { text } = statement.compile();
          if (/webhook_(delivery|attempt)/.test(text)) texts.push(text);
          return await target.query<Row>(statement);
        }
      },
    });
  const transaction: Database["transaction"] = (work, outcome) =>
    database.transaction((tx) => work(heard(tx)), outcome);
  return heard(database, { transaction });
}

/** Returns the result of each attempt: "done", or the error without its stack. */
export const answersTo = (attempts: readonly (() => Promise<unknown>)[]): Promise<string[]> =>
  Promise.all(
    attempts.map((attempt) =>
      attempt().then(
        () => "done",
        (error: unknown) => {
          if (!(error instanceof AppError)) throw error;
          const { code, message, details } = error;
          return JSON.stringify({ code, message, details });
        },
      ),
    ),
  );

/** Opens the services for the tests of a file. */
export const useWebhookServices = (options: WebhookServiceOptions = {}): WebhookServiceFixture =>
  useFixture(() => openWebhookServiceFixture(options));

export async function openWebhookServiceFixture({
  retentionDays = 30,
  replayRate,
}: WebhookServiceOptions = {}) {
  const stack = new AsyncDisposableStack();
  const { url } = stack.use(await createTestDatabase());
  const database = stack.use(await openDatabase({ url, poolSize: 6, entities }));
  const clock = createFakeClock();
  const workerNotifications = { count: 0 };
  const webhooks = stack.use(
    await openWebhooks({
      database,
      clock,
      secretBox: testSecretBox,
      notifyWorkers: () => void (workerNotifications.count += 1),
      allowPrivate: true,
      retentionDays,
      replayRate,
      docsUrl: null,
    }),
  );
  const organizations = new OrganizationService({ database });
  const insertJobs = async (
    agent: OrganizationPrincipal,
    numbers: readonly string[],
    contractor?: OrganizationPrincipal,
  ): Promise<void> => {
    const upserts = numbers.map((markingNumber) => ({
      markingNumber,
      agentId: agent.organizationId,
      contractorId: contractor?.organizationId,
      patch: {},
    }));
    await database.transaction((tx) => upsertRows(tx, upserts, { actor: systemActor, requestId: null }));
  };
  return {
    database,
    databaseUrl: url,
    clock,
    /** Number of notifyWorkers calls. */
    workerNotifications,
    endpoints: webhooks.endpoints,
    deliveries: webhooks.deliveries,
    async createOrganization(type: OrganizationType): Promise<OrganizationPrincipal> {
      const name = `${type} ${randomBytes(6).toString("hex")}`;
      const { id } = await organizations.create({ name, type });
      return { organizationId: id, organizationType: type, actor: systemActor };
    },
    /** Creates a job of the agent, and so an event. Returns its Marking Number. */
    async createJob(agent: OrganizationPrincipal, contractor?: OrganizationPrincipal): Promise<string> {
      const markingNumber = `MN-${randomBytes(8).toString("hex")}`;
      await insertJobs(agent, [markingNumber], contractor);
      return markingNumber;
    },
    /** In one transaction. */
    createJobs: (agent: OrganizationPrincipal, count: number) =>
      insertJobs(
        agent,
        Array.from({ length: count }, () => `MN-${randomBytes(8).toString("hex")}`),
      ),
    /** Returns the matching deliveries, oldest first. */
    listDeliveries: (where: Sql = sql`true`) =>
      database.query<StoredDelivery>(sql`
        select id, event_id, event_type, origin, status, attempts from webhook_delivery where ${where} order by id`),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
