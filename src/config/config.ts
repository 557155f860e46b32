/** The configuration, built from the environment. Only the composition root reads it. */
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import type { TracingSettings } from "../core/tracing/tracing.ts";
import type { Env } from "./env.ts";

export type Config = ReturnType<typeof toConfig>;

const STUDIO_ORIGIN = "https://studio.apollographql.com";

export function toConfig(env: Env) {
  const isEmbedded = env.DATABASE_URL === undefined;
  const publicUrl = env.PUBLIC_URL === undefined ? null : withoutTrailingSlash(env.PUBLIC_URL);
  const dataDir = resolve(env.WAYMARK_DATA_DIR);
  const allowPrivate = env.WEBHOOK_ALLOW_PRIVATE ?? isEmbedded;
  return {
    environment: env.NODE_ENV,
    role: env.WAYMARK_ROLE,
    http: httpSettings(env, publicUrl),
    database: {
      /** Null: the embedded PostgreSQL in `dataDir`. */
      url: env.DATABASE_URL ?? null,
      poolSize: env.DATABASE_POOL_SIZE,
      /** Physical standbys that may answer lists and aggregates. */
      replicaUrls: env.DATABASE_REPLICA_URLS,
    },
    mongo: {
      /** Null: the embedded MongoDB in `dataDir`. */
      url: env.MONGODB_URL ?? null,
      /** The `mongod` to start as embedded MongoDB. Null: search for one, and download it from `download`. */
      binary: env.MONGOD_BINARY ?? null,
      download: env.MONGOD_DOWNLOAD,
    },
    dataDir,
    /** The folder for a downloaded `mongod`, shared by all data folders. */
    cacheDir: resolve(homedir(), env.XDG_CACHE_HOME ?? ".cache", "waymark"),
    /** True: fill an empty database with demo data. */
    demo: env.WAYMARK_DEMO ?? isEmbedded,
    /** WAYMARK_SECRET. Null: the key file in `dataDir`, allowed only with the embedded PostgreSQL. */
    secret: env.WAYMARK_SECRET ?? null,
    webhooks: {
      /** True: endpoints may use http, loopback and private networks. */
      allowPrivate,
      /** URL of the guide's page about webhooks, sent to receivers in the `User-Agent`. Null without PUBLIC_URL. */
      docsUrl: publicUrl === null ? null : `${publicUrl}/guide/webhooks/quickstart`,
      retrySchedule: env.WEBHOOK_RETRY_SCHEDULE,
    },
    mail: mailSettings(env, publicUrl, dataDir),
    twoFactorPolicy: env.REQUIRE_TWO_FACTOR,
    sso: ssoSettings(env, allowPrivate),
    /** Days after which deliveries, request log entries and ended API keys are deleted. */
    retentionDays: env.RETENTION_DAYS,
    rateLimits: {
      enabled: env.RATE_LIMITS,
      store: env.RATE_LIMIT_STORE,
      /** The limits of all keys of an organisation together, as a multiple of one key's limits. */
      organizationFactor: env.ORGANIZATION_RATE_LIMIT_FACTOR,
    },
    logLevel: env.LOG_LEVEL,
    tracing: tracingSettings(env),
  };
}

function httpSettings(env: Env, publicUrl: string | null) {
  const isProduction = env.NODE_ENV === "production";
  const total = env.MAX_CONNECTIONS;
  const defaultDelayMs = isProduction ? 5_000 : 0;
  return {
    host: env.HOST,
    port: env.PORT,
    /** A separate port for `/metrics`. Null: `/metrics` is served on `port`. */
    metricsPort: env.METRICS_PORT ?? null,
    /** Null: the URL that the server listens on. */
    publicUrl,
    /** The number of proxies in front, or their IP addresses and ranges. */
    trustProxy: env.TRUST_PROXY,
    /** Maximum open connections. Behind a proxy all of them share its IP address, so the default per IP address is the total. */
    connections: {
      total,
      perAddress: env.MAX_CONNECTIONS_PER_ADDRESS ?? (env.TRUST_PROXY === 0 ? Math.min(1_000, total) : total),
    },
    /** True: reject requests that would have to wait for long. */
    loadShedding: env.LOAD_SHEDDING,
    corsOrigins: env.CORS_ORIGINS,
    /**
     * How long the server still answers requests, while readiness fails, after SIGTERM. Workers get no requests, and outside
     * production no load balancer is expected.
     */
    shutdownDrainDelayMs: env.WAYMARK_ROLE === "worker" ? 0 : (env.SHUTDOWN_DRAIN_DELAY ?? defaultDelayMs),
    keepAliveMs: env.KEEP_ALIVE_TIMEOUT,
    /** Origins that may call GraphQL: `corsOrigins`, and outside production Apollo's hosted Sandbox. */
    graphqlOrigins: isProduction ? env.CORS_ORIGINS : [...env.CORS_ORIGINS, STUDIO_ORIGIN],
  };
}

function mailSettings(env: Env, publicUrl: string | null, dataDir: string) {
  const { hostname } = new URL(publicUrl ?? "http://localhost");
  return {
    /** Null: mails are saved as files in `folder`. */
    smtp: env.SMTP_URL ?? null,
    from: env.MAIL_FROM ?? { name: "Waymark", address: `no-reply@${hostname}` },
    folder: join(dataDir, "mails"),
  };
}

function ssoSettings(env: Env, allowPrivate: boolean) {
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret } = env;
  const client = { scopes: env.OIDC_SCOPES, requiredClaim: env.OIDC_ROLE_CLAIM ?? null };
  return {
    /** Null: operators have no identity provider. */
    operators: issuer && clientId && clientSecret ? { issuer, clientId, clientSecret, ...client } : null,
    /** The users whose passwords are turned off. */
    only: env.SSO_ONLY,
    /** As webhooks: organisations enter the URLs of both. */
    allowPrivate,
  };
}

/** Returns null unless a collector is set. The traces endpoint takes precedence over the general one. */
function tracingSettings(env: Env): TracingSettings | null {
  const base = env.OTEL_EXPORTER_OTLP_ENDPOINT;
  const url = env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? (base && `${withoutTrailingSlash(base)}/v1/traces`);
  if (url === undefined) return null;
  const sampler = env.OTEL_TRACES_SAMPLER;
  return {
    url,
    headers: env.OTEL_EXPORTER_OTLP_HEADERS,
    resource: {
      "service.name": env.OTEL_SERVICE_NAME,
      "deployment.environment.name": env.NODE_ENV,
      "waymark.role": env.WAYMARK_ROLE,
    },
    ratio: sampler.endsWith("ratio") ? env.OTEL_TRACES_SAMPLER_ARG : Number(sampler.endsWith("on")),
  };
}

function withoutTrailingSlash(url: string): string {
  return url.replace(/(?<!\/)\/+$/, "");
}
