/** The whole application on a database of its own, and the things that tests make in it. */
import { randomBytes } from "node:crypto";
import { createApp, type App, type AppOverrides } from "../../src/app.ts";
import type { NewKey } from "../../src/api-keys/api-key.service.ts";
import { toConfig } from "../../src/config/config.ts";
import { readEnv } from "../../src/config/env.ts";
import type { JobPatch } from "../../src/jobs/job.fields.ts";
import { upsertRows, type JobUpsert } from "../../src/jobs/job.upsert.ts";
import { systemActor, type OrganizationType } from "../../src/platform/principal.ts";
import { holdAgainstContract } from "./contract.ts";
import { createTestDatabase } from "./test-database.ts";

/** An organisation with a key that may do everything. */
export interface Partner {
  /** The organisation's uuid. */
  id: string;
  name: string;
  key: string;
}

export interface TestApp extends App {
  url: string;
  databaseUrl: string;
  /** A request to the app, with `key` as x-api-key where given. */
  request(path: string, init?: RequestInit & { key?: string }): Promise<Response>;
  /** The same, its body read as the envelope and the answer held against the OpenAPI document. */
  call(path: string, init?: RequestInit & { key?: string }): Promise<Answer>;
  partner(type: OrganizationType, key?: Partial<NewKey>): Promise<Partner>;
  /** Makes jobs; Marking Numbers are made up where none is given. Answers with the Marking Numbers. */
  jobs(agent: Partner, jobs: readonly TestJob[]): Promise<string[]>;
}

export interface TestJob {
  markingNumber?: string;
  contractor?: Partner;
  patch?: JobPatch;
  providerStatus?: string;
}

export interface Answer {
  status: number;
  headers: Headers;
  body: {
    request_id: string;
    success: boolean;
    // Tests look into answers of every shape.
    // oxlint-disable-next-line typescript/no-explicit-any
    data: any;
    error: { code: string; message: string; details: unknown } | null;
  };
}

/** Starts the app; `env` are settings, rate limits being off unless they say otherwise. */
export async function startTestApp(
  env: Record<string, string> = {},
  overrides: AppOverrides = {},
): Promise<TestApp> {
  const database = await createTestDatabase();
  const settings = {
    PORT: "0",
    LOG_LEVEL: "silent",
    RATE_LIMITS: "off",
    NODE_ENV: "test",
    DATABASE_URL: database.url,
    ...env,
  };
  const app = await createApp(toConfig(readEnv(settings)), database.url, overrides);
  const url = await app.listen();

  const request: TestApp["request"] = (path, { key, ...init } = {}) => {
    const headers = new Headers(init.headers);
    if (key !== undefined) headers.set("x-api-key", key);
    if (typeof init.body === "string" && !headers.has("content-type"))
      headers.set("content-type", "application/json");
    return fetch(url + path, { ...init, headers });
  };

  return {
    ...app,
    url,
    databaseUrl: database.url,
    request,
    async call(path, init) {
      const response = await request(path, init);
      const body = (await response.json()) as Answer["body"];
      const answer = { status: response.status, headers: response.headers, body };
      holdAgainstContract(init?.method ?? "GET", path, answer);
      return answer;
    },
    async partner(type, key = {}) {
      const name = `${type} ${randomBytes(6).toString("hex")}`;
      const { id } = await app.organizations.create({ name, type });
      const { text } = await app.keys.create({ organizationId: id, name: "test", createdBy: "test", ...key });
      return { id, name, key: text };
    },
    async jobs(agent, jobs) {
      const upserts = jobs.map((job) => toUpsert(agent, job));
      const context = { actor: systemActor, requestId: null };
      await app.database.transaction((tx) => upsertRows(tx, upserts, context));
      return upserts.map((upsert) => upsert.markingNumber);
    },
    async [Symbol.asyncDispose]() {
      await app[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
    },
  };
}

function toUpsert(
  agent: Partner,
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
