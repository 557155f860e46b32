/** Starts an app instance in the test's process on an existing database, which several instances can share. */
import { Agent } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import supertest from "supertest";
import { createApp, type App, type AppOverrides } from "../../../src/app/app.ts";
import { toConfig } from "../../../src/config/config.ts";
import { readEnv } from "../../../src/config/env.ts";
import { openSecretBox } from "../../../src/dev/secret-key.ts";
import { openMongo } from "../../../src/core/mongo.ts";
import { errorCodeByStatus } from "./error-codes.ts";
import { expectToMatchContract } from "./openapi-contract.ts";
import { TEST_SECRET } from "../test-secret.ts";

export interface AppInstance extends App {
  url: string;
  /** Returns a supertest request, which is sent when it is awaited. */
  request(path: string, options?: RequestOptions): supertest.Test;
  /** Sends a request, parses the response envelope and checks the response against the OpenAPI document. */
  call(path: string, options?: RequestOptions): Promise<ApiResponse>;
}

export interface RequestOptions {
  /** Default: GET. */
  method?: string;
  /** Sent as x-api-key. */
  key?: string;
  headers?: Readonly<Record<string, string>> | undefined;
  /** Sent as it is, as JSON unless `headers` say otherwise. */
  body?: string | Buffer | undefined;
}

export interface ApiResponse {
  status: number;
  headers: Headers;
  body: {
    request_id: string;
    success: boolean;
    // Tests read data of any shape.
    // oxlint-disable-next-line typescript/no-explicit-any
    data: any;
    error: { code: string; message: string; details: unknown } | null;
  };
}

/**
 * Starts an instance. Unless `env` sets them, rate limits and load shedding are off and there is no MongoDB.
 * Disposing does not drop the database.
 */
export async function startAppInstance(
  databaseUrl: string,
  env: Record<string, string> = {},
  overrides: AppOverrides = {},
): Promise<AppInstance> {
  const settings = {
    PORT: "0",
    LOG_LEVEL: "silent",
    RATE_LIMITS: "off",
    // Tests send bursts that a busy test machine would reject.
    LOAD_SHEDDING: "off",
    NODE_ENV: "test",
    DATABASE_URL: databaseUrl,
    WAYMARK_SECRET: TEST_SECRET,
    // Mails are written here.
    WAYMARK_DATA_DIR: join(tmpdir(), "waymark-tests"),
    ...env,
  };
  const config = toConfig(readEnv(settings));
  const mongo = openMongo({ url: config.mongo.url });
  const app = await createApp(
    config,
    { databaseUrl, mongo, secretBox: await openSecretBox(config, async () => false) },
    // Tests block requests with locks, and a busy test machine takes seconds until it has seen them blocked.
    { lockTimeoutMs: 0, ...overrides },
  );
  const url = await app.listen();
  return {
    ...app,
    ...createApiClient(url),
    async [Symbol.asyncDispose]() {
      await app[Symbol.asyncDispose]();
      await mongo[Symbol.asyncDispose]();
    },
  };
}

/**
 * Keeps connections open: most requests are short, so connecting would be a fifth of their time. It closes idle ones first: the
 * server would after 66 s, and reset a request that is in transit. Without `timeout`, Node ignores the server's Keep-Alive header.
 */
const connections = new Agent({ keepAlive: true, timeout: 30_000 });

/** Creates the request functions for a server at `url`. */
export function createApiClient(url: string): Pick<AppInstance, "url" | "request" | "call"> {
  const client = supertest(url);
  const request: AppInstance["request"] = (path, { method = "GET", key, headers = {}, body } = {}) => {
    const test = client[method.toLowerCase() as "get"](path).agent(connections).set(headers);
    if (key !== undefined) test.set("x-api-key", key);
    if (body === undefined) return test;
    if (test.get("content-type") === undefined) test.type("json");
    return test.send(body);
  };
  return {
    url,
    request,
    async call(path, options) {
      const apiResponse = toApiResponse(await request(path, options));
      expectToMatchContract(options?.method ?? "GET", path, apiResponse);
      return LIBRARY_PATH.test(path) ? inEnvelope(apiResponse) : apiResponse;
    },
  };
}

/** The routes that better-auth answers. */
const LIBRARY_PATH =
  /^\/auth\/(sign-in\/|sign-out$|passkey\/|two-factor\/(enable|disable|generate-backup-codes|verify-totp|verify-backup-code)$)/;

/** Returns an answer in the library's form as one in the envelope, for the assertions that all routes share. */
function inEnvelope({ status, headers, body }: ApiResponse): ApiResponse {
  if ("request_id" in body) return { status, headers, body };
  const { code, message, details = null } = body as { code?: string; message?: string; details?: unknown };
  const success = status < 400;
  const error = { code: errorCodeByStatus[status] ?? String(code), message: String(message), details };
  const common = { request_id: headers.get("x-request-id") ?? "", success };
  return { status, headers, body: { ...common, data: success ? body : null, error: success ? null : error } };
}

/** Returns a parsed response. A 304 has no body. */
export function toApiResponse({ status, headers, body }: supertest.Response): ApiResponse {
  const pairs = Object.entries(headers as Record<string, string | string[]>);
  return {
    status,
    headers: new Headers(
      pairs.flatMap(([name, values]) => [values].flat().map((value): [string, string] => [name, value])),
    ),
    body: body as ApiResponse["body"],
  };
}
