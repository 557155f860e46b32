/** A second process of the service, as it were: another app on a database that is there already. */
import { createApp, type App, type AppOverrides } from "../../src/app.ts";
import { toConfig } from "../../src/config/config.ts";
import { readEnv } from "../../src/config/env.ts";
import { holdAgainstContract } from "./contract.ts";
import type { Answer, TestApp } from "./start-app.ts";

export type Instance = App & Pick<TestApp, "url" | "request" | "call">;

/** `env` and `overrides` as for `startTestApp`. Disposing leaves the database alone. */
export async function startInstance(
  databaseUrl: string,
  env: Record<string, string> = {},
  overrides: AppOverrides = {},
): Promise<Instance> {
  const settings = {
    PORT: "0",
    LOG_LEVEL: "silent",
    RATE_LIMITS: "off",
    NODE_ENV: "test",
    DATABASE_URL: databaseUrl,
    ...env,
  };
  const app = await createApp(toConfig(readEnv(settings)), databaseUrl, overrides);
  const url = await app.listen();
  const request: Instance["request"] = (path, { key, ...init } = {}) => {
    const headers = new Headers(init.headers);
    if (key !== undefined) headers.set("x-api-key", key);
    if (typeof init.body === "string" && !headers.has("content-type"))
      headers.set("content-type", "application/json");
    return fetch(url + path, { ...init, headers });
  };
  return {
    ...app,
    url,
    request,
    async call(path, init) {
      const response = await request(path, init);
      const answer = {
        status: response.status,
        headers: response.headers,
        body: (await response.json()) as Answer["body"],
      };
      holdAgainstContract(init?.method ?? "GET", path, answer);
      return answer;
    },
  };
}
