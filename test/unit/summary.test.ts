import { expect, it } from "vitest";
import { toConfig } from "../../src/config/config.ts";
import { readEnv } from "../../src/config/env.ts";
import { banner, warningsOf } from "../../src/config/summary.ts";
import { TEST_SECRET } from "../support/secret.ts";

const OWN_DATABASE = { DATABASE_URL: "postgres://localhost/waymark", WAYMARK_SECRET: TEST_SECRET };

const configOf = (env: Record<string, string>) => toConfig(readEnv({ ...OWN_DATABASE, ...env }));
const bannerOf = (env: Record<string, string>) =>
  banner(configOf(env), "http://127.0.0.1:4000", null, { state: "up" });

it("whoever runs it for others is told that without SMTP_URL nobody gets mails, in the banner too", () => {
  for (const env of [{}, { NODE_ENV: "production" }, { NODE_ENV: "production", DATABASE_URL: "" }]) {
    const [warning = "", ...others] = warningsOf(configOf(env));
    expect(others).toEqual([]);
    expect(warning).toContain("SMTP_URL is not set");
    expect(bannerOf(env)).toContain(warning);
  }
});

it("a newcomer on the embedded database is not, nor who has named a mail server", () => {
  for (const env of [
    { DATABASE_URL: "" },
    { NODE_ENV: "production", SMTP_URL: "smtp://mail.example.com:587" },
    { SMTP_URL: "smtp://mail.example.com:587" },
  ]) {
    expect(warningsOf(configOf(env))).toEqual([]);
    expect(bannerOf(env)).not.toContain("SMTP_URL");
  }
});
