/** The configuration, built from the environment and frozen. Only the composition root reads it. */
import { isIP } from "node:net";
import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import type { MailAddress } from "../platform/mail/mailer.ts";
import type { SmtpServer } from "../platform/mail/smtp-url.ts";
import type { TracingSettings } from "../platform/tracing/tracing.ts";
import type { Env } from "./env.ts";

export interface Config {
  readonly environment: "development" | "production" | "test";
  readonly role: "all" | "api" | "worker";
  readonly http: {
    readonly host: string;
    readonly port: number;
    /** A separate port for `/metrics`. Null: `/metrics` is served on `port`. */
    readonly metricsPort: number | null;
    /** Null: the URL that the server listens on. */
    readonly publicUrl: string | null;
    /** The number of proxies in front, or their IP addresses and ranges. */
    readonly trustProxy: number | readonly string[];
    /** Maximum open connections. */
    readonly connections: { readonly total: number; readonly perAddress: number };
    /** True: reject requests that would have to wait for long. */
    readonly loadShedding: boolean;
    readonly corsOrigins: readonly string[];
    /** How long the server still answers requests, while readiness fails, after SIGTERM. */
    readonly shutdownDrainDelayMs: number;
    /** How long an idle connection stays open. */
    readonly keepAliveMs: number;
    /** Origins that may call GraphQL: `corsOrigins`, and outside production Apollo's hosted Sandbox. */
    readonly graphqlOrigins: readonly string[];
  };
  readonly database: {
    /** Null: the embedded PostgreSQL in `dataDir`. */
    readonly url: string | null;
    readonly poolSize: number;
    /** Physical standbys that may answer lists and aggregates. */
    readonly replicaUrls: readonly string[];
  };
  readonly mongo: {
    /** Null: the embedded MongoDB in `dataDir`. */
    readonly url: string | null;
    /** The `mongod` to start as embedded MongoDB. Null: search for one. */
    readonly binary: string | null;
    /** True: download `mongod` if none is found. */
    readonly download: boolean;
  };
  readonly dataDir: string;
  /** The folder for a downloaded `mongod`, shared by all data folders. */
  readonly cacheDir: string;
  /** WAYMARK_SECRET. Null: the key file in `dataDir`, allowed only with the embedded PostgreSQL. */
  readonly secret: string | null;
  readonly webhooks: {
    /** True: endpoints may use http, loopback and private networks. */
    readonly allowPrivate: boolean;
    /** URL of the documentation, sent to receivers in the `User-Agent`. Null without PUBLIC_URL. */
    readonly docsUrl: string | null;
    /** The delay before each attempt, in milliseconds. */
    readonly retrySchedule: readonly number[];
  };
  readonly mail: {
    /** Null: mails are saved as files. */
    readonly smtp: SmtpServer | null;
    readonly from: MailAddress;
    /** The folder for those files. */
    readonly folder: string;
  };
  /** Users who must set up two-factor authentication. */
  readonly twoFactorPolicy: "none" | "operators" | "all";
  /** Days after which deliveries, request log entries and ended API keys are deleted. */
  readonly retentionDays: number;
  /** True: fill an empty database with demo data. */
  readonly demo: boolean;
  readonly rateLimits: {
    readonly enabled: boolean;
    readonly store: "memory" | "postgres";
    /** The limits of all keys of an organisation together, as a multiple of one key's limits. */
    readonly organizationFactor: number;
  };
  readonly logLevel: string;
  /** Null: no tracing. */
  readonly tracing: TracingSettings | null;
}

const STUDIO_ORIGIN = "https://studio.apollographql.com";

export function toConfig(env: Env): Config {
  const publicUrl = env.PUBLIC_URL?.replace(/(?<!\/)\/+$/, "") ?? null;
  const config: Config = {
    environment: env.NODE_ENV,
    role: env.WAYMARK_ROLE,
    http: {
      host: env.HOST,
      port: env.PORT,
      metricsPort: env.METRICS_PORT ?? null,
      publicUrl,
      trustProxy: env.TRUST_PROXY,
      connections: connectionLimits(env),
      loadShedding: env.LOAD_SHEDDING === "on",
      corsOrigins: env.CORS_ORIGINS,
      shutdownDrainDelayMs: shutdownDrainDelayMs(env),
      keepAliveMs: env.KEEP_ALIVE_TIMEOUT,
      graphqlOrigins: env.NODE_ENV === "production" ? env.CORS_ORIGINS : [...env.CORS_ORIGINS, STUDIO_ORIGIN],
    },
    database: {
      url: env.DATABASE_URL ?? null,
      poolSize: env.DATABASE_POOL_SIZE,
      replicaUrls: env.DATABASE_REPLICA_URLS,
    },
    mongo: {
      url: env.MONGODB_URL ?? null,
      binary: env.MONGOD_BINARY ?? null,
      download: env.MONGOD_DOWNLOAD === "on",
    },
    dataDir: resolve(env.WAYMARK_DATA_DIR),
    cacheDir: join(cacheHome(env.XDG_CACHE_HOME), "waymark"),
    // By default only the embedded database gets demo data.
    demo: env.WAYMARK_DEMO ? env.WAYMARK_DEMO === "on" : env.DATABASE_URL === undefined,
    secret: env.WAYMARK_SECRET ?? null,
    webhooks: {
      // With the embedded database, allow a receiver on the same machine.
      allowPrivate: env.WEBHOOK_ALLOW_PRIVATE
        ? env.WEBHOOK_ALLOW_PRIVATE === "on"
        : env.DATABASE_URL === undefined,
      docsUrl: publicUrl === null ? null : `${publicUrl}/docs`,
      retrySchedule: env.WEBHOOK_RETRY_SCHEDULE,
    },
    mail: {
      smtp: env.SMTP_URL ?? null,
      from: env.MAIL_FROM ?? { name: "Waymark", address: `no-reply@${mailHost(publicUrl)}` },
      folder: join(resolve(env.WAYMARK_DATA_DIR), "mails"),
    },
    twoFactorPolicy: env.REQUIRE_TWO_FACTOR,
    retentionDays: env.RETENTION_DAYS,
    rateLimits: {
      enabled: env.RATE_LIMITS === "on",
      store: env.RATE_LIMIT_STORE,
      organizationFactor: env.ORGANIZATION_RATE_LIMIT_FACTOR,
    },
    logLevel: env.LOG_LEVEL,
    tracing: tracingSettings(env),
  };
  return deepFreeze(config);
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

function deepFreeze<T extends object>(value: T): T {
  for (const inner of Object.values(value)) {
    if (typeof inner === "object" && inner !== null) deepFreeze(inner);
  }
  return Object.freeze(value);
}
