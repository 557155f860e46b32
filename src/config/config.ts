/** The program's configuration: the environment put in order, frozen, and read by nobody but the composition root. */
import { isIP } from "node:net";
import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import type { Sender } from "../platform/mailer.ts";
import type { SmtpServer } from "../platform/smtp-url.ts";
import type { Env } from "./env.ts";

export interface Config {
  readonly environment: "development" | "production" | "test";
  readonly role: "all" | "api" | "worker";
  readonly http: {
    readonly host: string;
    readonly port: number;
    /** Null: the address that the server listens on. */
    readonly publicUrl: string | null;
    /** How many proxies stand in front, or their addresses. */
    readonly trustProxy: number | readonly string[];
    readonly corsOrigins: readonly string[];
    /** Whose pages may ask GraphQL: the same, and outside production Apollo's hosted Sandbox. */
    readonly graphqlOrigins: readonly string[];
  };
  readonly database: {
    /** Null: the embedded PostgreSQL in `dataDir`. */
    readonly url: string | null;
    readonly poolSize: number;
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
    readonly from: Sender;
    /** The folder for those files. */
    readonly folder: string;
  };
  /** How long the log of deliveries is kept. */
  readonly retentionDays: number;
  /** Whether an empty database is seeded with the demo. */
  readonly demo: boolean;
  readonly rateLimits: { readonly enabled: boolean; readonly store: "memory" | "postgres" };
  readonly logLevel: string;
}

const STUDIO_ORIGIN = "https://studio.apollographql.com";

export function toConfig(env: Env): Config {
  const publicUrl = env.PUBLIC_URL?.replace(/\/+$/, "") ?? null;
  const config: Config = {
    environment: env.NODE_ENV,
    role: env.WAYMARK_ROLE,
    http: {
      host: env.HOST,
      port: env.PORT,
      publicUrl,
      trustProxy: env.TRUST_PROXY,
      corsOrigins: env.CORS_ORIGINS,
      graphqlOrigins: env.NODE_ENV === "production" ? env.CORS_ORIGINS : [...env.CORS_ORIGINS, STUDIO_ORIGIN],
    },
    database: { url: env.DATABASE_URL ?? null, poolSize: env.DATABASE_POOL_SIZE },
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
    retentionDays: env.RETENTION_DAYS,
    rateLimits: { enabled: env.RATE_LIMITS === "on", store: env.RATE_LIMIT_STORE },
    logLevel: env.LOG_LEVEL,
  };
  return deepFreeze(config);
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
