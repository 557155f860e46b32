import { expect, it } from "vitest";
import { toConfig } from "../../../src/config/config.ts";
import { readEnv } from "../../../src/config/env.ts";
import { banner, startupWarnings } from "../../../src/config/banner.ts";
import { TEST_SECRET } from "../../support/test-secret.ts";

const SAFE_ENV = {
  NODE_ENV: "production",
  DATABASE_URL: "postgres://localhost/waymark",
  WAYMARK_SECRET: TEST_SECRET,
  SMTP_URL: "smtp://mail.example.com:587",
  REQUIRE_TWO_FACTOR: "operators",
  RATE_LIMIT_STORE: "postgres",
};

const configOf = (env: Record<string, string>) => toConfig(readEnv({ ...SAFE_ENV, ...env }));
const bannerOf = (env: Record<string, string>) =>
  banner(configOf(env), "http://127.0.0.1:4000", null, { state: "up" });

it.each([
  ["SMTP_URL is not set", { SMTP_URL: "" }],
  ["SMTP_URL is not set", { SMTP_URL: "", DATABASE_URL: "" }],
  ["REQUIRE_TWO_FACTOR is none", { REQUIRE_TWO_FACTOR: "" }],
  ["REQUIRE_TWO_FACTOR is none", { REQUIRE_TWO_FACTOR: "none", DATABASE_URL: "" }],
  ["RATE_LIMIT_STORE is memory", { RATE_LIMIT_STORE: "" }],
  ["RATE_LIMIT_STORE is memory", { RATE_LIMIT_STORE: "memory", WAYMARK_ROLE: "api" }],
  ["NODE_ENV is development", { NODE_ENV: "" }],
  ["NODE_ENV is test", { NODE_ENV: "test" }],
  ["HOST is 0.0.0.0", { NODE_ENV: "", DATABASE_URL: "", HOST: "0.0.0.0" }],
])("warns that %s, in the log and in the banner: %j", (start, env) => {
  const [warning = "", ...others] = startupWarnings(configOf(env));
  expect(others).toEqual([]);
  expect(warning).toContain(start);
  expect(bannerOf(env)).toContain(`Attention  ${warning}`);
});

it("warns about every unsafe setting with an external database", () => {
  const env = { NODE_ENV: "", SMTP_URL: "", REQUIRE_TWO_FACTOR: "", RATE_LIMIT_STORE: "" };
  expect(startupWarnings(configOf(env))).toHaveLength(4);
});

it.each([
  ["the URL that it listens on", {}, "http://127.0.0.1:4000"],
  ["PUBLIC_URL", { PUBLIC_URL: "https://example.com/waymark" }, "https://example.com/waymark"],
])("links the guide below %s", (_, env, base) => {
  expect(bannerOf(env)).toContain(`  Guide      ${base}/guide/\n`);
});

it.each([
  ["all settings are safe", {}],
  ["HOST is not loopback in production", { HOST: "0.0.0.0" }],
  ["HOST is an address of this machine only", { NODE_ENV: "", DATABASE_URL: "", HOST: "::1" }],
  ["a worker uses the memory store", { WAYMARK_ROLE: "worker", RATE_LIMIT_STORE: "memory" }],
  ["rate limits are off", { RATE_LIMITS: "off", RATE_LIMIT_STORE: "memory" }],
  ["the memory store is used with the embedded database", { DATABASE_URL: "", RATE_LIMIT_STORE: "memory" }],
  [
    "the embedded database is used outside production",
    { NODE_ENV: "", DATABASE_URL: "", SMTP_URL: "", REQUIRE_TWO_FACTOR: "", RATE_LIMIT_STORE: "" },
  ],
])("does not warn if %s", (_, env) => {
  expect(startupWarnings(configOf(env))).toEqual([]);
  expect(bannerOf(env)).not.toContain("Attention");
});
