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
  /** Creates jobs and returns their Marking Numbers, random if not given. Throws if another organisation's job has one of them. */
  createJobs(agent: TestOrganization, jobs: readonly TestJob[]): Promise<string[]>;
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
export function createFactories(app: AppInstance): Pick<TestApp, "createOrganization" | "createJobs"> {
  return {
    async createOrganization(type, key = {}) {
      const name = `${type} ${randomBytes(6).toString("hex")}`;
      const { id } = await app.organizations.create({ name, type });
      const { text } = await app.keys.create({
        organizationId: id,
        name: "test",
        createdBy: "test",
        scopes,
        ...key,
      });
      return { id, name, key: text };
    },
    async createJobs(agent, jobs) {
      const upserts = jobs.map((job) => toUpsert(agent, job));
      const context = { actor: systemActor, requestId: null };
      const outcomes = await app.database.transaction((tx) => upsertRows(tx, upserts, context));
      const numbers = upserts.map((upsert) => upsert.markingNumber);
      const taken = numbers.filter((_, index) => outcomes[index]?.kind === "already_exists");
      invariant(taken.length === 0, `jobs of another organisation in this database have ${taken.join(", ")}`);
      return numbers;
    },
  };
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
