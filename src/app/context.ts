/** The shared dependencies of the app, created by app.ts and passed to each module. */
import type { Registry } from "prom-client";
import type { Config } from "../config/config.ts";
import type { Clock } from "../platform/clock.ts";
import type { Logger } from "../platform/logger.ts";
import type { Metrics } from "../platform/metrics.ts";
import type { Database } from "../platform/postgres/database.ts";
import type { SecretBox } from "../platform/secret-box.ts";
import type { Tracing } from "../platform/tracing/tracing.ts";

export interface AppContext {
  readonly config: Config;
  readonly databaseUrl: string;
  /** The main pool. Its commits are durable. */
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** The registry of `metrics`. */
  readonly registry: Registry;
  /** Uses WAYMARK_SECRET. */
  readonly secretBox: SecretBox;
  /** Absent: no tracing. */
  readonly tracing?: Tracing | undefined;
}
