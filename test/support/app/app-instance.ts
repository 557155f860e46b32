/** The service in this process, on a database that is there already: one instance of several, if a test wants more. */
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
  /** A request to the app, with `key` as x-api-key where given. */
  request(path: string, init?: RequestInit & { key?: string }): Promise<Response>;
  /** The same, its body read as the envelope and the answer held against the OpenAPI document. */
  call(path: string, init?: RequestInit & { key?: string }): Promise<ApiResponse>;
}

export interface ApiResponse {
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

/** `env` are settings, rate limits and the protection from overload being off and MongoDB absent unless they say otherwise. Disposing leaves the database alone. */
export async function startAppInstance(
  databaseUrl: string,
  env: Record<string, string> = {},
  overrides: AppOverrides = {},
): Promise<AppInstance> {
  const settings = {
    PORT: "0",
    LOG_LEVEL: "silent",
    RATE_LIMITS: "off",
    // Tests ask more at once than a busy machine answers in time.
    LOAD_SHEDDING: "off",
    NODE_ENV: "test",
    DATABASE_URL: databaseUrl,
    WAYMARK_SECRET: TEST_SECRET,
    // Mails are kept in it.
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

/** Requests to a server, wherever it runs. */
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
      const answer = { status: response.status, headers: response.headers, body };
      expectToMatchContract(init?.method ?? "GET", path, answer);
      return answer;
    },
  };
}
