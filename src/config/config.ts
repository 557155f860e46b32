/** The configuration, built from the environment and frozen. Only the composition root reads it. */
import { isIP } from "node:net";
import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import type { TracingSettings } from "../core/tracing/tracing.ts";
import type { Env } from "./env.ts";

export type Config = ReturnType<typeof toConfig>;

const STUDIO_ORIGIN = "https://studio.apollographql.com";

/** Returns the configuration of `env`, frozen. */
export function toConfig(env: Env) {
  const publicUrl = env.PUBLIC_URL?.replace(/(?<!\/)\/+$/, "") ?? null;
  return deepFreeze({
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
      /** The `mongod` to start as embedded MongoDB. Null: search for one. */
      binary: env.MONGOD_BINARY ?? null,
      /** Where `mongod` may be downloaded from if none is found. */
      download: env.MONGOD_DOWNLOAD,
    },
    dataDir: resolve(env.WAYMARK_DATA_DIR),
    /** The folder for a downloaded `mongod`, shared by all data folders. */
    cacheDir: join(cacheHome(env.XDG_CACHE_HOME), "waymark"),
    /** True: fill an empty database with demo data. By default only the embedded database. */
    demo: env.WAYMARK_DEMO ? env.WAYMARK_DEMO === "on" : env.DATABASE_URL === undefined,
    /** WAYMARK_SECRET. Null: the key file in `dataDir`, allowed only with the embedded PostgreSQL. */
    secret: env.WAYMARK_SECRET ?? null,
    webhooks: {
      /** True: endpoints may use http, loopback and private networks. By default only with the embedded database. */
      allowPrivate: env.WEBHOOK_ALLOW_PRIVATE
        ? env.WEBHOOK_ALLOW_PRIVATE === "on"
        : env.DATABASE_URL === undefined,
      /** URL of the guide's page about webhooks, sent to receivers in the `User-Agent`. Null without PUBLIC_URL. */
      docsUrl: publicUrl === null ? null : `${publicUrl}/guide/webhooks/quickstart`,
      /** The delay before each attempt, in milliseconds. */
      retrySchedule: env.WEBHOOK_RETRY_SCHEDULE,
    },
    mail: {
      /** Null: mails are saved as files. */
      smtp: env.SMTP_URL ?? null,
      from: env.MAIL_FROM ?? { name: "Waymark", address: `no-reply@${mailHost(publicUrl)}` },
      /** The folder for those files. */
      folder: join(resolve(env.WAYMARK_DATA_DIR), "mails"),
    },
    /** Users who must set up two-factor authentication. */
    twoFactorPolicy: env.REQUIRE_TWO_FACTOR,
    /** Days after which deliveries, request log entries and ended API keys are deleted. */
    retentionDays: env.RETENTION_DAYS,
    rateLimits: {
      enabled: env.RATE_LIMITS === "on",
      store: env.RATE_LIMIT_STORE,
      /** The limits of all keys of an organisation together, as a multiple of one key's limits. */
      organizationFactor: env.ORGANIZATION_RATE_LIMIT_FACTOR,
    },
    logLevel: env.LOG_LEVEL,
    /** Null: no tracing. */
    tracing: tracingSettings(env),
  });
}

function httpSettings(env: Env, publicUrl: string | null) {
  return {
    host: env.HOST,
    port: env.PORT,
    /** A separate port for `/metrics`. Null: `/metrics` is served on `port`. */
    metricsPort: env.METRICS_PORT ?? null,
    /** Null: the URL that the server listens on. */
    publicUrl,
    /** The number of proxies in front, or their IP addresses and ranges. */
    trustProxy: env.TRUST_PROXY,
    /** Maximum open connections. */
    connections: connectionLimits(env),
    /** True: reject requests that would have to wait for long. */
    loadShedding: env.LOAD_SHEDDING === "on",
    corsOrigins: env.CORS_ORIGINS,
    /** How long the server still answers requests, while readiness fails, after SIGTERM. */
    shutdownDrainDelayMs: shutdownDrainDelayMs(env),
    /** How long an idle connection stays open. */
    keepAliveMs: env.KEEP_ALIVE_TIMEOUT,
    /** Origins that may call GraphQL: `corsOrigins`, and outside production Apollo's hosted Sandbox. */
    graphqlOrigins: env.NODE_ENV === "production" ? env.CORS_ORIGINS : [...env.CORS_ORIGINS, STUDIO_ORIGIN],
  };
}

const DEFAULT_SHUTDOWN_DRAIN_DELAY_MS = 5_000;

/** Defaults to 0 for workers, which get no requests, and outside production, where no load balancer is expected. */
function shutdownDrainDelayMs({
  WAYMARK_ROLE: role,
  NODE_ENV: environment,
  SHUTDOWN_DRAIN_DELAY: delayMs,
}: Env): number {
  if (role === "worker") return 0;
  return delayMs ?? (environment === "production" ? DEFAULT_SHUTDOWN_DRAIN_DELAY_MS : 0);
}

const DEFAULT_CONNECTIONS_PER_ADDRESS = 1_000;

/** Behind a proxy all connections share the proxy's IP address, so the default limit per IP address is the total. */
function connectionLimits({
  MAX_CONNECTIONS: total,
  MAX_CONNECTIONS_PER_ADDRESS: perAddress,
  TRUST_PROXY,
}: Env) {
  const isDirect = TRUST_PROXY === 0;
  return {
    total,
    perAddress: perAddress ?? (isDirect ? Math.min(DEFAULT_CONNECTIONS_PER_ADDRESS, total) : total),
  };
}

/** Returns null unless a collector is set. The traces endpoint takes precedence over the general one. */
function tracingSettings(env: Env): TracingSettings | null {
  const base = env.OTEL_EXPORTER_OTLP_ENDPOINT?.replace(/(?<!\/)\/+$/, "");
  const url = env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? (base === undefined ? null : `${base}/v1/traces`);
  if (url === null) return null;
  return {
    url,
    headers: env.OTEL_EXPORTER_OTLP_HEADERS,
    resource: {
      "service.name": env.OTEL_SERVICE_NAME,
      "deployment.environment.name": env.NODE_ENV,
      "waymark.role": env.WAYMARK_ROLE,
    },
    ratio: samplingRatio(env),
  };
}

function samplingRatio({ OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: ratio }: Env): number {
  if (sampler.endsWith("ratio")) return ratio;
  return sampler.endsWith("on") ? 1 : 0;
}

/** Returns the host of PUBLIC_URL for the default sender, or localhost if it is unset or an IP address. */
function mailHost(publicUrl: string | null): string {
  const { hostname } = new URL(publicUrl ?? "http://localhost");
  return isIP(hostname.replace(/^\[|\]$/g, "")) === 0 ? hostname : "localhost";
}

/** The XDG Base Directory Specification ignores a relative XDG_CACHE_HOME. */
function cacheHome(directory: string | undefined): string {
  return directory !== undefined && isAbsolute(directory) ? directory : join(homedir(), ".cache");
}

type DeepReadonly<T> = {
  readonly [Key in keyof T]: T[Key] extends object | null ? DeepReadonly<T[Key]> : T[Key];
};

function deepFreeze<T extends object>(value: T): DeepReadonly<T> {
  for (const inner of Object.values(value)) {
    if (typeof inner === "object" && inner !== null) deepFreeze(inner);
  }
  return Object.freeze(value) as DeepReadonly<T>;
}
