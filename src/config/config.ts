/** The program's configuration: the environment put in order, frozen, and read by nobody but the composition root. */
import { resolve } from "node:path";
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
  };
  readonly database: {
    /** Null: the embedded PostgreSQL in `dataDir`. */
    readonly url: string | null;
    readonly poolSize: number;
  };
  readonly dataDir: string;
  /** Whether an empty database is seeded with the demo. */
  readonly demo: boolean;
  readonly rateLimits: { readonly enabled: boolean; readonly store: "memory" | "postgres" };
  readonly logLevel: string;
}

export function toConfig(env: Env): Config {
  const config: Config = {
    environment: env.NODE_ENV,
    role: env.WAYMARK_ROLE,
    http: {
      host: env.HOST,
      port: env.PORT,
      publicUrl: env.PUBLIC_URL?.replace(/\/+$/, "") ?? null,
      trustProxy: env.TRUST_PROXY,
      corsOrigins: env.CORS_ORIGINS,
    },
    database: { url: env.DATABASE_URL ?? null, poolSize: env.DATABASE_POOL_SIZE },
    dataDir: resolve(env.WAYMARK_DATA_DIR),
    // A database of one's own is never filled with made-up jobs unless that is asked for.
    demo: env.WAYMARK_DEMO ? env.WAYMARK_DEMO === "on" : env.DATABASE_URL === undefined,
    rateLimits: { enabled: env.RATE_LIMITS === "on", store: env.RATE_LIMIT_STORE },
    logLevel: env.LOG_LEVEL,
  };
  return deepFreeze(config);
}

function deepFreeze<T extends object>(value: T): T {
  for (const inner of Object.values(value)) {
    if (typeof inner === "object" && inner !== null) deepFreeze(inner);
  }
  return Object.freeze(value);
}
