/** Starts an app instance in the test's process on an existing database, which several instances can share. */
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createApp, type App, type AppOverrides } from "../../../src/app/app.ts";
import { toConfig } from "../../../src/config/config.ts";
import { readEnv } from "../../../src/config/env.ts";
import { openSecretBox } from "../../../src/embedded/secret-key.ts";
import { openMongo } from "../../../src/platform/mongo.ts";
import { expectToMatchContract } from "./openapi-contract.ts";
import { TEST_SECRET } from "../test-secret.ts";

export interface AppInstance extends App {
  url: string;
  /** Sends a request, with `key` as x-api-key. */
  request(path: string, init?: RequestInit & { key?: string }): Promise<Response>;
  /** Sends a request, parses the response envelope and checks the response against the OpenAPI document. */
  call(path: string, init?: RequestInit & { key?: string }): Promise<ApiResponse>;
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
    overrides,
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

/** Creates the request functions for a server at `url`. */
export function createApiClient(url: string): Pick<AppInstance, "url" | "request" | "call"> {
  const request: AppInstance["request"] = (path, { key, ...init } = {}) => {
    const headers = new Headers(init.headers);
    if (key !== undefined) headers.set("x-api-key", key);
    if (typeof init.body === "string" && !headers.has("content-type"))
      headers.set("content-type", "application/json");
    return fetch(url + path, { ...init, headers });
  };
  return {
    url,
    request,
    async call(path, init) {
      const response = await request(path, init);
      // 304 has no body.
      const body = (response.status === 304 ? {} : await response.json()) as ApiResponse["body"];
      const apiResponse = { status: response.status, headers: response.headers, body };
      expectToMatchContract(init?.method ?? "GET", path, apiResponse);
      return apiResponse;
    },
  };
}
