/** The shared dependencies of the app, created by app.ts and passed to each module. */
import type { Registry } from "prom-client";
import type { Config } from "../config/config.ts";
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/logger.ts";
import type { Metrics } from "../core/metrics.ts";
import type { Database } from "../core/postgres/database.ts";
import type { SecretBox } from "../core/secret-box.ts";

export interface AppContext {
  readonly config: Config;
  readonly databaseUrl: string;
  /** The main pool. Its commits are durable. */
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly registry: Registry;
  /** Uses WAYMARK_SECRET. */
  readonly secretBox: SecretBox;
  /** Of tests, in place of DNS. */
  readonly resolveTxt?: ((name: string) => Promise<string[][]>) | undefined;
}
