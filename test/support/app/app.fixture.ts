/** The app on a new database, with functions that create organisations and jobs. */
import { randomBytes } from "node:crypto";
import type { AppOverrides } from "../../../src/app/app.ts";
import type { NewKey } from "../../../src/api-keys/changes.ts";
import { scopes } from "../../../src/api-keys/entity.ts";
import type { JobPatch } from "../../../src/jobs/fields.ts";
import { upsertRows, type JobUpsert } from "../../../src/jobs/update/upsert.sql.ts";
import { invariant } from "../../../src/core/errors.ts";
import { systemActor, type OrganizationType } from "../../../src/core/principal.ts";
import { startAppInstance, type AppInstance } from "./app-instance.ts";
import { createTestDatabase } from "../database/test-database.ts";

/** An organisation with a key that has all scopes. */
export interface TestOrganization {
  /** A UUID. */
  id: string;
  name: string;
  key: string;
}

export interface TestApp extends AppInstance {
  databaseUrl: string;
  createOrganization(type: OrganizationType, key?: Partial<NewKey>): Promise<TestOrganization>;
  /** Returns the text of a new key of an organisation, or of operators if it is null. */
  createKey(
    organizationId: string | null,
    key?: Partial<Parameters<AppInstance["keys"]["create"]>[0]>,
  ): Promise<string>;
  /** Returns the Marking Number, random if not given. Throws if another organisation's job has it. */
  createJob(agent: TestOrganization, job?: TestJob): Promise<string>;
  /** The same for several jobs, or for this number of jobs without values. */
  createJobs(agent: TestOrganization, jobs: readonly TestJob[] | number): Promise<string[]>;
}

export interface TestJob {
  markingNumber?: string;
  contractor?: TestOrganization;
  patch?: JobPatch;
  providerStatus?: string;
}

/** Starts the app with the defaults of `startAppInstance`. Disposing drops the database. */
export async function startTestApp(
  env: Record<string, string> = {},
  overrides: AppOverrides = {},
): Promise<TestApp> {
  const database = await createTestDatabase();
  const app = await startAppInstance(database.url, env, overrides);

  return {
    ...app,
    databaseUrl: database.url,
    ...createFactories(app),
    async [Symbol.asyncDispose]() {
      await app[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
    },
  };
}

/** Returns the functions that create organisations and jobs through an app instance. */
export function createFactories(
  app: AppInstance,
): Pick<TestApp, "createOrganization" | "createKey" | "createJob" | "createJobs"> {
  const createKey: TestApp["createKey"] = async (organizationId, key = {}) =>
    (await app.keys.create({ organizationId, name: "test", createdBy: "test", ...key })).text;
  const createJobs: TestApp["createJobs"] = async (agent, jobs) => {
    const list = typeof jobs === "number" ? Array.from({ length: jobs }, () => ({})) : jobs;
    const upserts = list.map((job) => toUpsert(agent, job));
    const context = { actor: systemActor, requestId: null };
    const outcomes = await app.database.transaction((tx) => upsertRows(tx, upserts, context));
    const numbers = upserts.map((upsert) => upsert.markingNumber);
    const taken = numbers.filter((_, index) => outcomes[index]?.kind === "already_exists");
    invariant(taken.length === 0, `jobs of another organisation in this database have ${taken.join(", ")}`);
    return numbers;
  };
  return {
    createKey,
    createJobs,
    async createJob(agent, job = {}) {
      const [number = ""] = await createJobs(agent, [job]);
      return number;
    },
    async createOrganization(type, key = {}) {
      const name = `${type} ${randomBytes(6).toString("hex")}`;
      const { id } = await app.organizations.create({ name, type });
      return { id, name, key: await createKey(id, { scopes, ...key }) };
    },
  };
}

/** Returns the UUID of the organisation's first key. */
export async function keyIdOf(
  { keys }: Pick<AppInstance, "keys">,
  { id }: TestOrganization,
): Promise<string> {
  const [key] = await keys.list(id);
  return key?.id ?? "";
}

function toUpsert(
  agent: TestOrganization,
  { markingNumber, contractor, patch = {}, providerStatus }: TestJob,
): JobUpsert {
  return {
    markingNumber: markingNumber ?? `MN-${randomBytes(8).toString("hex")}`,
    agentId: agent.id,
    contractorId: contractor?.id,
    patch,
    providerStatus,
  };
}
