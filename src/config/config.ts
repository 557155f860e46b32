/** The program's configuration: the environment put in order, frozen, and read by nobody but the composition root. */
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
    /** A port for `/metrics` alone. Null: it is served on `port`. */
    readonly metricsPort: number | null;
    /** Null: the address that the server listens on. */
    readonly publicUrl: string | null;
    /** How many proxies stand in front, or their addresses. */
    readonly trustProxy: number | readonly string[];
    /** How many may stand open at the same time. */
    readonly connections: { readonly total: number; readonly perAddress: number };
    /** Whether requests are refused that would have to wait for long. */
    readonly loadShedding: boolean;
    readonly corsOrigins: readonly string[];
    /** For how long, once it is told to stop, it says that it is not ready and answers everything all the same. */
    readonly shutdownDrainDelayMs: number;
    /** How long a connection is kept for its next request. */
    readonly keepAliveMs: number;
    /** Whose pages may ask GraphQL: the same, and outside production Apollo's hosted Sandbox. */
    readonly graphqlOrigins: readonly string[];
  };
  readonly database: {
    /** Null: the embedded PostgreSQL in `dataDir`. */
    readonly url: string | null;
    readonly poolSize: number;
    /** Standbys that may answer lists and aggregates in its place. */
    readonly replicaUrls: readonly string[];
  };
  readonly mongo: {
    /** Null: the embedded MongoDB in `dataDir`. */
    readonly url: string | null;
    /** The `mongod` to start where it is embedded. Null: one that is found. */
    readonly binary: string | null;
    /** Whether a `mongod` may be downloaded where none is found. */
    readonly download: boolean;
  };
  readonly dataDir: string;
  /** What can be had again, and is shared by every data folder: a downloaded `mongod`. */
  readonly cacheDir: string;
  /** As it was given. Null: the one in `dataDir`, which only the embedded PostgreSQL may do with. */
  readonly secret: string | null;
  readonly webhooks: {
    /** Also http, loopback and private networks. */
    readonly allowPrivate: boolean;
    /** Where a receiver's operator reads what it is that calls; null: nowhere. */
    readonly docsUrl: string | null;
    /** The delay before each attempt, in milliseconds. */
    readonly retrySchedule: readonly number[];
  };
  readonly mail: {
    /** Null: mails are kept in files, and in the outbox. */
    readonly smtp: SmtpServer | null;
    readonly from: MailAddress;
    /** The folder for those files. */
    readonly folder: string;
  };
  /** Whose account is closed until it has a second factor. */
  readonly twoFactorPolicy: "nobody" | "operators" | "everybody";
  /** How long the log of deliveries is kept. */
  readonly retentionDays: number;
  /** Whether an empty database is seeded with the demo. */
  readonly demo: boolean;
  readonly rateLimits: {
    readonly enabled: boolean;
    readonly store: "memory" | "postgres";
    /** How many times the limits of one key all keys of an organisation have together. */
    readonly organizationFactor: number;
  };
  readonly logLevel: string;
  /** Null: nothing is traced. */
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
    // A database of one's own is never filled with made-up jobs unless that is asked for.
    demo: env.WAYMARK_DEMO ? env.WAYMARK_DEMO === "on" : env.DATABASE_URL === undefined,
    secret: env.WAYMARK_SECRET ?? null,
    webhooks: {
      // A newcomer tries it with a receiver on the same machine.
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

/** Nobody sends requests to a worker, and whoever tries it out has no balancer in front and does not want to wait. */
function shutdownDrainDelayMs({
  WAYMARK_ROLE: role,
  NODE_ENV: environment,
  SHUTDOWN_DRAIN_DELAY: given,
}: Env): number {
  if (role === "worker") return 0;
  return given ?? (environment === "production" ? DEFAULT_SHUTDOWN_DRAIN_DELAY_MS : 0);
}

const DEFAULT_CONNECTIONS_PER_ADDRESS = 1_000;

/** Behind a proxy every connection is the proxy's, so that nothing is to be learnt from where it comes. */
function connectionLimits({ MAX_CONNECTIONS: total, MAX_CONNECTIONS_PER_ADDRESS: given, TRUST_PROXY }: Env) {
  const isDirect = TRUST_PROXY === 0;
  return {
    total,
    perAddress: given ?? (isDirect ? Math.min(DEFAULT_CONNECTIONS_PER_ADDRESS, total) : total),
  };
}

/** On where a collector is named; of its two names the one for traces alone is the nearer. */
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

/** Mails come from where the service is. */
function mailHost(publicUrl: string | null): string {
  const { hostname } = new URL(publicUrl ?? "http://localhost");
  return isIP(hostname.replace(/^\[|\]$/g, "")) === 0 ? hostname : "localhost";
}

/** As the XDG Base Directory Specification has it: one that is not absolute does not count. */
function cacheHome(given: string | undefined): string {
  return given !== undefined && isAbsolute(given) ? given : join(homedir(), ".cache");
}

function deepFreeze<T extends object>(value: T): T {
  for (const inner of Object.values(value)) {
    if (typeof inner === "object" && inner !== null) deepFreeze(inner);
  }
  return Object.freeze(value);
}
