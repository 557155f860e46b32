import { describe, expect, it } from "vitest";
import { toConfig } from "../../../src/config/config.ts";
import { readEnv } from "../../../src/config/env.ts";
import { StartupError } from "../../../src/core/errors.ts";

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

describe("an invalid setting", () => {
  it.each([
    ["NODE_ENV", "prod", "NODE_ENV=production"],
    ["PORT", "http", "PORT=4000"],
    ["PORT", "65536", "PORT=4000"],
    ["PORT", "-1", "PORT=4000"],
    ["PORT", "80.5", "PORT=4000"],
    ["SHUTDOWN_DRAIN_DELAY", "5", "SHUTDOWN_DRAIN_DELAY=5s"],
    ["SHUTDOWN_DRAIN_DELAY", "6m", "SHUTDOWN_DRAIN_DELAY=5s"],
    ["KEEP_ALIVE_TIMEOUT", "65", "KEEP_ALIVE_TIMEOUT=65s"],
    ["KEEP_ALIVE_TIMEOUT", "999ms", "KEEP_ALIVE_TIMEOUT=65s"],
    ["KEEP_ALIVE_TIMEOUT", "61m", "KEEP_ALIVE_TIMEOUT=65s"],
    ["PUBLIC_URL", "api.example.com", "PUBLIC_URL=https://api.example.com"],
    ["PUBLIC_URL", "ftp://api.example.com", "PUBLIC_URL=https://api.example.com"],
    ["WAYMARK_ROLE", "web", "WAYMARK_ROLE=api"],
    ["WAYMARK_DEMO", "maybe", "WAYMARK_DEMO=off"],
    ["DATABASE_URL", "mysql://db/waymark", "DATABASE_URL=postgresql://"],
    ["DATABASE_REPLICA_URLS", "postgresql://db-1/waymark,db-2", "DATABASE_REPLICA_URLS=postgresql://"],
    [
      "DATABASE_REPLICA_URLS",
      Array(9).fill("postgresql://db/waymark").join(),
      "DATABASE_REPLICA_URLS=postgresql://",
    ],
    ["DATABASE_POOL_SIZE", "1", "DATABASE_POOL_SIZE=10"],
    ["MONGODB_URL", "postgresql://db/waymark", "MONGODB_URL=mongodb://"],
    ["MONGODB_URL", "mongodb://", "MONGODB_URL=mongodb://"],
    ["MONGOD_DOWNLOAD", "on", "MONGOD_DOWNLOAD=official"],
    ["WAYMARK_SECRET", "not-thirty-two-bytes", "WAYMARK_SECRET=$(openssl rand -base64 32)"],
    ["WEBHOOK_ALLOW_PRIVATE", "2", "WEBHOOK_ALLOW_PRIVATE=off"],
    ["WEBHOOK_RETRY_SCHEDULE", "0s,5x", "WEBHOOK_RETRY_SCHEDULE=0s,5s,5m"],
    ["SMTP_URL", "mail.example.com:587", "SMTP_URL=smtp://"],
    ["SMTP_URL", "smtp://mail.example.com?tls=maybe", "SMTP_URL=smtp://"],
    ["MAIL_FROM", "Waymark", "MAIL_FROM=Waymark <no-reply@example.com>"],
    ["MAIL_FROM", "a@example.com, b@example.com", "MAIL_FROM=Waymark <no-reply@example.com>"],
    ["OIDC_SCOPES", "openid", "OIDC_SCOPES=openid email"],
    ["OIDC_ROLE_CLAIM", "groups", "OIDC_ROLE_CLAIM=groups=waymark-operators"],
    ["SSO_ONLY", "operators", "SSO_ONLY=operators"],
    ["RETENTION_DAYS", "0", "RETENTION_DAYS=30"],
    ["RATE_LIMITS", "TRUE?", "RATE_LIMITS=on"],
    ["RATE_LIMIT_STORE", "redis", "RATE_LIMIT_STORE=postgres"],
    ["TRUST_PROXY", "yes", "TRUST_PROXY=1"],
    ["TRUST_PROXY", "11", "TRUST_PROXY=1"],
    ["TRUST_PROXY", "10.0.0.0/99", "TRUST_PROXY=1"],
    ["CORS_ORIGINS", "app.example.com", "CORS_ORIGINS=https://app.example.com"],
    ["CORS_ORIGINS", "https://a.example.com,*", "CORS_ORIGINS=https://app.example.com"],
    ["LOG_LEVEL", "loud", "LOG_LEVEL=info"],
    ["OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318", "OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4318"],
    ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "grpc://c", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://collector"],
    ["OTEL_EXPORTER_OTLP_HEADERS", "secret", "OTEL_EXPORTER_OTLP_HEADERS=x-api-key=SECRET"],
    ["OTEL_TRACES_SAMPLER", "jaeger_remote", "OTEL_TRACES_SAMPLER=parentbased_traceidratio"],
    ["OTEL_TRACES_SAMPLER_ARG", "2", "OTEL_TRACES_SAMPLER_ARG=0.01"],
  ])("%s=%s is reported with its name, the reason and an example", (name, value, example) => {
    const lines = startupErrorOf({ [name]: value })
      .split("\n")
      .slice(1);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(new RegExp(`^  ${name}: \\S.{5,}`));
    expect(lines[0]).toContain(`Example: ${example}`);
  });

  it("names the settings of OpenID Connect that are missing", () => {
    const lines = startupErrorOf({ OIDC_ISSUER: "https://login.example.com" }).split("\n").slice(1);
    expect(lines.map((line) => line.trim().split(":")[0])).toEqual(["OIDC_CLIENT_ID", "OIDC_CLIENT_SECRET"]);
  });

  it("names both settings and their durations if RETENTION_DAYS is shorter than the retry schedule", () => {
    const [line, ...others] = startupErrorOf({ RETENTION_DAYS: "3" }).split("\n").slice(1);
    expect(others).toEqual([]);
    expect(line).toContain(
      "RETENTION_DAYS: 3 days (72 h) is shorter than WEBHOOK_RETRY_SCHEDULE, which takes 75.6 h, with jitter up to 90.7 h. " +
        "Set RETENTION_DAYS to at least 4, or shorten WEBHOOK_RETRY_SCHEDULE",
    );
    expect(readEnv({ RETENTION_DAYS: "4" }).RETENTION_DAYS).toBe(4);
    expect(readEnv({ RETENTION_DAYS: "1", WEBHOOK_RETRY_SCHEDULE: "0s,20h" }).RETENTION_DAYS).toBe(1);
    expect(startupErrorOf({ WEBHOOK_RETRY_SCHEDULE: "0s,30d" })).toContain(
      "Set RETENTION_DAYS to at least 36",
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
  });
});

const allowsPrivate = (env: Record<string, string>): boolean => toConfig(readEnv(env)).webhooks.allowPrivate;

const graphqlOrigins = (environment: string): readonly string[] =>
  toConfig(readEnv({ NODE_ENV: environment, CORS_ORIGINS: "https://a.example.com" })).http.graphqlOrigins;

const senderOf = (env: Record<string, string>) => toConfig(readEnv(env)).mail.from;

describe("the settings", () => {
  it.each([
    ["on", true],
    ["true", true],
    ["1", true],
    ["yes", true],
    ["off", false],
    ["false", false],
    ["0", false],
    ["no", false],
  ])("accept %s for on and off", (text, isOn) => {
    const switches = ["WAYMARK_DEMO", "WEBHOOK_ALLOW_PRIVATE", "RATE_LIMITS", "LOAD_SHEDDING"];
    const config = toConfig(readEnv(Object.fromEntries(switches.map((name) => [name, text]))));
    expect({
      demo: config.demo,
      allowPrivate: config.webhooks.allowPrivate,
      rateLimits: config.rateLimits.enabled,
      loadShedding: config.http.loadShedding,
    }).toEqual({
      demo: isOn,
      allowPrivate: isOn,
      rateLimits: isOn,
      loadShedding: isOn,
    });
  });

  it.each(["any", "official", "off"])("accept %s for MONGOD_DOWNLOAD", (value) => {
    expect(toConfig(readEnv({ MONGOD_DOWNLOAD: value })).mongo.download).toBe(value);
  });

  it("have defaults", () => {
    const config = toConfig(readEnv({}));
    expect(config).toMatchObject({
      environment: "development",
      role: "all",
      http: { host: "127.0.0.1", port: 4000, publicUrl: null, trustProxy: 0, corsOrigins: [] },
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

  it("derive the sender from PUBLIC_URL unless MAIL_FROM is set", () => {
    expect(senderOf({ PUBLIC_URL: "https://api.example.com/x" }).address).toBe("no-reply@api.example.com");
    expect(senderOf({ MAIL_FROM: "Us <us@example.com>" })).toEqual({ name: "Us", address: "us@example.com" });
  });

  it.each([
    [{}, 0],
    [{ NODE_ENV: "production" }, 5_000],
    [{ NODE_ENV: "production", SHUTDOWN_DRAIN_DELAY: "0s" }, 0],
    [{ SHUTDOWN_DRAIN_DELAY: "90s" }, 90_000],
    [{ NODE_ENV: "production", SHUTDOWN_DRAIN_DELAY: "90s", WAYMARK_ROLE: "worker" }, 0],
  ])("%j set a shutdown drain delay of %i ms", (env, delayMs) => {
    expect(toConfig(readEnv(env)).http.shutdownDrainDelayMs).toBe(delayMs);
  });

  it.each([
    [{}, 65_000],
    [{ KEEP_ALIVE_TIMEOUT: "620s" }, 620_000],
    [{ KEEP_ALIVE_TIMEOUT: "1h" }, 3_600_000],
  ])("%j set a keep-alive timeout of %i ms", (env, timeoutMs) => {
    expect(toConfig(readEnv(env)).http.keepAliveMs).toBe(timeoutMs);
  });

  it("treat an empty value as unset", () => {
    const empty = Object.fromEntries(
      ["PORT", "DATABASE_URL", "CORS_ORIGINS", "TRUST_PROXY", "LOG_LEVEL", "PUBLIC_URL"].map((name) => [
        name,
        "",
      ]),
    );
    expect(readEnv(empty)).toEqual(readEnv({}));
  });

  it("ignore unknown environment variables", () => {
    expect(readEnv({ PATH: "/bin", SOMETHING_ELSE: "x" })).toEqual(readEnv({}));
  });

  it.each([
    ["off", 0],
    ["0", 0],
    ["2", 2],
    ["10.0.0.0/8", ["10.0.0.0/8"]],
    ["10.0.0.1, 2001:db8::/32", ["10.0.0.1", "2001:db8::/32"]],
  ])("accept TRUST_PROXY=%s", (text, expected) => {
    expect(toConfig(readEnv({ TRUST_PROXY: text })).http.trustProxy).toEqual(expected);
  });

  it.each([
    "mongodb://mongo",
    "mongodb://user:password@one:27017,two:27017/waymark?replicaSet=rs0",
    "mongodb+srv://user:password@cluster.example.com/waymark",
    "mongodb://%2Ftmp%2Fmongodb-27017.sock/waymark",
  ])("accept MONGODB_URL=%s", (url) => {
    expect(toConfig(readEnv({ MONGODB_URL: url })).mongo.url).toBe(url);
  });

  it("use the folder waymark in XDG_CACHE_HOME", () => {
    expect(toConfig(readEnv({ XDG_CACHE_HOME: "/var/cache" })).cacheDir).toBe("/var/cache/waymark");
  });

  it("parse CORS_ORIGINS as a comma-separated list", () => {
    const { corsOrigins } = toConfig(
      readEnv({ CORS_ORIGINS: "https://a.example.com , http://localhost:5173," }),
    ).http;
    expect(corsOrigins).toEqual(["https://a.example.com", "http://localhost:5173"]);
  });

  it("allow Apollo's hosted Sandbox to call GraphQL, except in production", () => {
    expect(graphqlOrigins("development")).toEqual([
      "https://a.example.com",
      "https://studio.apollographql.com",
    ]);
    expect(graphqlOrigins("production")).toEqual(["https://a.example.com"]);
  });

  it("remove the trailing slash of PUBLIC_URL", () => {
    expect(toConfig(readEnv({ PUBLIC_URL: "https://api.example.com/x/" })).http.publicUrl).toBe(
      "https://api.example.com/x",
    );
  });

  it.each([
    ["WAYMARK_DEMO", (env: Record<string, string>) => toConfig(readEnv(env)).demo],
    ["WEBHOOK_ALLOW_PRIVATE", allowsPrivate],
  ] as const)("turn %s on by default only with the embedded database", (name, isOn) => {
    const external = { DATABASE_URL: "postgresql://db/waymark" };
    expect([isOn({}), isOn({ [name]: "off" })]).toEqual([true, false]);
    expect([isOn(external), isOn({ ...external, [name]: "on" })]).toEqual([false, true]);
  });
});
