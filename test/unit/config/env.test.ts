import { describe, expect, it } from "vitest";
import { toConfig, type Config } from "../../../src/config/config.ts";
import { readEnv } from "../../../src/config/env.ts";
import { StartupError } from "../../../src/core/errors.ts";
import { read } from "../../support/docs/facts.ts";

/** Returns the error message for invalid settings. */
function startupErrorOf(source: Record<string, string>): string {
  try {
    readEnv(source);
  } catch (error) {
    if (error instanceof StartupError && error.hint.includes(".env.example")) return error.message;
    throw error;
  }
  throw new Error("The settings were accepted");
}

const names = [...read(".env.example").matchAll(/^([A-Z][A-Z0-9_]*)=/gm)].map(([, name = ""]) => name);
const NONSENSE = "no such value!";

describe("an invalid setting", () => {
  /** They may be any text; and the issuer needs the other settings of OpenID Connect. */
  const exceptions = new Set([
    "HOST",
    "MONGOD_BINARY",
    "XDG_CACHE_HOME",
    "WAYMARK_DATA_DIR",
    "OIDC_ISSUER",
    "OIDC_CLIENT_ID",
    "OIDC_CLIENT_SECRET",
    "OTEL_SERVICE_NAME",
  ]);

  it.each([
    ...names.filter((name) => !exceptions.has(name)).map((name) => [name, NONSENSE]),
    ["PORT", "65536"],
    ["PORT", "-1"],
    ["PORT", "80.5"],
    ["SHUTDOWN_DRAIN_DELAY", "5"],
    ["SHUTDOWN_DRAIN_DELAY", "6m"],
    ["KEEP_ALIVE_TIMEOUT", "65"],
    ["KEEP_ALIVE_TIMEOUT", "999ms"],
    ["KEEP_ALIVE_TIMEOUT", "61m"],
    ["PUBLIC_URL", "ftp://api.example.com"],
    ["DATABASE_URL", "mysql://db/waymark"],
    ["DATABASE_REPLICA_URLS", "postgresql://db-1/waymark,db-2"],
    ["DATABASE_REPLICA_URLS", Array(9).fill("postgresql://db/waymark").join()],
    ["DATABASE_POOL_SIZE", "1"],
    ["MONGODB_URL", "postgresql://db/waymark"],
    ["MONGODB_URL", "mongodb://"],
    ["WEBHOOK_RETRY_SCHEDULE", "0s,5x"],
    ["SMTP_URL", "smtp://mail.example.com?tls=maybe"],
    ["MAIL_FROM", "a@example.com, b@example.com"],
    ["OIDC_SCOPES", "openid"],
    ["SSO_ONLY", "operators"],
    ["RETENTION_DAYS", "0"],
    ["TRUST_PROXY", "11"],
    ["TRUST_PROXY", "10.0.0.0/99"],
    ["CORS_ORIGINS", "https://a.example.com,*"],
    ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "grpc://c"],
    ["OTEL_TRACES_SAMPLER_ARG", "2"],
    ...["secret", "=secret", "a b=secret", "x-key=%zz", "x-key=a%0d%0ax: y"].map((headers) => [
      "OTEL_EXPORTER_OTLP_HEADERS",
      headers,
    ]),
  ])("%s=%s is reported with its name, the reason and an example", (name = "", value = "") => {
    const [line, ...others] = startupErrorOf({ [name]: value })
      .split("\n")
      .slice(1);
    expect(others).toEqual([]);
    expect(line).toMatch(new RegExp(`^  ${name}: \\S.{5,}\\. Example: ${name}=\\S`));
  });

  it("names the samplers", () => {
    expect(startupErrorOf({ OTEL_TRACES_SAMPLER: "ratio" })).toContain("always_on, always_off or traceid");
  });

  it("names the settings of OpenID Connect that are missing", () => {
    const lines = startupErrorOf({ OIDC_ISSUER: "https://login.example.com" }).split("\n").slice(1);
    expect(lines.map((line) => line.trim().split(":")[0])).toEqual(["OIDC_CLIENT_ID", "OIDC_CLIENT_SECRET"]);
  });

  it("is RETENTION_DAYS if it is shorter than the retry schedule with jitter", () => {
    const [line, ...others] = startupErrorOf({ RETENTION_DAYS: "3" }).split("\n").slice(1);
    expect(others).toEqual([]);
    expect(line).toContain("RETENTION_DAYS: Must be at least 4 for this WEBHOOK_RETRY_SCHEDULE");
    expect(readEnv({ RETENTION_DAYS: "4" }).RETENTION_DAYS).toBe(4);
    expect(readEnv({ RETENTION_DAYS: "1", WEBHOOK_RETRY_SCHEDULE: "0s,20h" }).RETENTION_DAYS).toBe(1);
    expect(startupErrorOf({ WEBHOOK_RETRY_SCHEDULE: "0s,30d" })).toContain(
      "RETENTION_DAYS: Must be at least 36",
    );
  });

  // evidence: settings-errors-listed-together
  it("is reported together with all other invalid settings", () => {
    const message = startupErrorOf({ PORT: "x", LOG_LEVEL: "loud", RATE_LIMITS: "maybe" });
    for (const name of ["PORT", "LOG_LEVEL", "RATE_LIMITS"]) expect(message).toContain(`  ${name}: `);
  });

  // evidence: settings-values-hidden
  it("is reported without its value if that may contain a secret", () => {
    expect(startupErrorOf({ DATABASE_URL: "mysql://user:hunter2@db/waymark" })).not.toContain("hunter2");
    expect(startupErrorOf({ WAYMARK_SECRET: "hunter2" })).not.toContain("hunter2");
    expect(startupErrorOf({ SMTP_URL: "http://user:hunter2@mail" })).not.toContain("hunter2");
    expect(startupErrorOf({ OTEL_EXPORTER_OTLP_HEADERS: "x-key: hunter2" })).not.toContain("hunter2");
  });
});

const COLLECTOR = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318/" };

describe("the settings", () => {
  it.each([
    [["on", "true", "1", "yes"], true],
    [["off", "false", "0", "no"], false],
  ])("accept %j for on and off", (texts, isOn) => {
    const switches = ["WAYMARK_DEMO", "WEBHOOK_ALLOW_PRIVATE", "RATE_LIMITS", "LOAD_SHEDDING"];
    for (const text of texts) {
      const { demo, webhooks, rateLimits, http } = toConfig(
        readEnv(Object.fromEntries(switches.map((name) => [name, text]))),
      );
      expect([demo, webhooks.allowPrivate, rateLimits.enabled, http.loadShedding]).toEqual(
        Array(switches.length).fill(isOn),
      );
    }
  });

  it("have defaults", () => {
    const config = toConfig(readEnv({}));
    expect(config).toMatchObject({
      environment: "development",
      role: "all",
      http: {
        host: "127.0.0.1",
        port: 4000,
        publicUrl: null,
        trustProxy: 0,
        corsOrigins: [],
        shutdownDrainDelayMs: 0,
        keepAliveMs: 65_000,
      },
      database: { url: null },
      mongo: { url: null, binary: null, download: "any" },
      secret: null,
      webhooks: { allowPrivate: true },
      mail: { smtp: null, from: { name: "Waymark", address: "no-reply@localhost" } },
      retentionDays: 30,
      demo: true,
      rateLimits: { enabled: true, store: "memory", organizationFactor: 4 },
      logLevel: "info",
    });
    expect(config.webhooks.retrySchedule.slice(0, 3)).toEqual([0, 5_000, 300_000]);
    expect(config.webhooks.retrySchedule).toHaveLength(10);
    expect(config.mail.folder).toBe(`${config.dataDir}/mails`);
    expect(config.dataDir).toMatch(/\/\.waymark$/);
    expect(config.cacheDir).toMatch(/\/\.cache\/waymark$/);
  });

  it.each([
    [{ NODE_ENV: "production" }, { http: { shutdownDrainDelayMs: 5_000 } }],
    [{ NODE_ENV: "production", SHUTDOWN_DRAIN_DELAY: "0s" }, { http: { shutdownDrainDelayMs: 0 } }],
    [{ SHUTDOWN_DRAIN_DELAY: "90s" }, { http: { shutdownDrainDelayMs: 90_000 } }],
    [
      { NODE_ENV: "production", SHUTDOWN_DRAIN_DELAY: "90s", WAYMARK_ROLE: "worker" },
      { http: { shutdownDrainDelayMs: 0 } },
    ],
    [{ KEEP_ALIVE_TIMEOUT: "620s" }, { http: { keepAliveMs: 620_000 } }],
    [{ KEEP_ALIVE_TIMEOUT: "1h" }, { http: { keepAliveMs: 3_600_000 } }],
    [{ PUBLIC_URL: "https://a.example/x/" }, { http: { publicUrl: "https://a.example/x" } }],
    [{ PUBLIC_URL: "https://a.example/x" }, { mail: { from: { address: "no-reply@a.example" } } }],
    [{ MAIL_FROM: "Us <us@a.example>" }, { mail: { from: { name: "Us", address: "us@a.example" } } }],
    [{ MONGOD_DOWNLOAD: "official" }, { mongo: { download: "official" } }],
    [{ MONGOD_DOWNLOAD: "off" }, { mongo: { download: "off" } }],
    [{ XDG_CACHE_HOME: "/var/cache" }, { cacheDir: "/var/cache/waymark" }],
    [{ TRUST_PROXY: "off" }, { http: { trustProxy: 0 } }],
    [{ TRUST_PROXY: "0" }, { http: { trustProxy: 0 } }],
    [{ TRUST_PROXY: "2" }, { http: { trustProxy: 2 } }],
    [{ TRUST_PROXY: "10.0.0.0/8" }, { http: { trustProxy: ["10.0.0.0/8"] } }],
    [{ TRUST_PROXY: "10.0.0.1, 2001:db8::/32" }, { http: { trustProxy: ["10.0.0.1", "2001:db8::/32"] } }],
    [
      { CORS_ORIGINS: "https://a.example , http://b:5173," },
      { http: { corsOrigins: ["https://a.example", "http://b:5173"] } },
    ],
    // Apollo's hosted Sandbox may call GraphQL, except in production.
    [
      { CORS_ORIGINS: "https://a.example" },
      { http: { graphqlOrigins: ["https://a.example", "https://studio.apollographql.com"] } },
    ],
    [
      { CORS_ORIGINS: "https://a.example", NODE_ENV: "production" },
      { http: { graphqlOrigins: ["https://a.example"] } },
    ],
    // Tracing is off without a collector.
    [{ OTEL_TRACES_SAMPLER: "always_on", OTEL_SERVICE_NAME: "x" }, { tracing: null }],
    [COLLECTOR, { tracing: { url: "http://collector:4318/v1/traces", ratio: 1 } }],
    [
      { ...COLLECTOR, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "https://c.example/in?team=1" },
      { tracing: { url: "https://c.example/in?team=1" } },
    ],
    [
      { ...COLLECTOR, OTEL_EXPORTER_OTLP_HEADERS: "Authorization=Basic%20a2V5Og==, x-tenant=a%2Cb" },
      { tracing: { headers: { authorization: "Basic a2V5Og==", "x-tenant": "a,b" } } },
    ],
    [{ ...COLLECTOR, OTEL_TRACES_SAMPLER_ARG: "0.25" }, { tracing: { ratio: 0.25 } }],
    [
      { ...COLLECTOR, OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "0.5" },
      { tracing: { ratio: 0.5 } },
    ],
    [
      { ...COLLECTOR, OTEL_TRACES_SAMPLER: "parentbased_always_on", OTEL_TRACES_SAMPLER_ARG: "0.5" },
      { tracing: { ratio: 1 } },
    ],
    [{ ...COLLECTOR, OTEL_TRACES_SAMPLER: "always_off" }, { tracing: { ratio: 0 } }],
  ])("%j become %j", (env, config) => {
    expect(toConfig(readEnv(env))).toMatchObject(config);
  });

  it("treat an empty value as unset", () => {
    expect(readEnv(Object.fromEntries(names.map((name) => [name, ""])))).toEqual(readEnv({}));
  });

  it("ignore unknown environment variables", () => {
    expect(readEnv({ PATH: "/bin", SOMETHING_ELSE: "x" })).toEqual(readEnv({}));
  });

  it.each([
    "mongodb://mongo",
    "mongodb://user:password@one:27017,two:27017/waymark?replicaSet=rs0",
    "mongodb+srv://user:password@cluster.example.com/waymark",
    "mongodb://%2Ftmp%2Fmongodb-27017.sock/waymark",
  ])("accept MONGODB_URL=%s", (url) => {
    expect(toConfig(readEnv({ MONGODB_URL: url })).mongo.url).toBe(url);
  });

  it.each([
    ["WAYMARK_DEMO", (config: Config) => config.demo],
    ["WEBHOOK_ALLOW_PRIVATE", (config: Config) => config.webhooks.allowPrivate],
  ] as const)("turn %s on by default only with the embedded database", (name, pick) => {
    const isOn = (env: Record<string, string>) => pick(toConfig(readEnv(env)));
    const external = { DATABASE_URL: "postgresql://db/waymark" };
    expect([isOn({}), isOn({ [name]: "off" })]).toEqual([true, false]);
    expect([isOn(external), isOn({ ...external, [name]: "on" })]).toEqual([false, true]);
  });
});
