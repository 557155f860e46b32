/** Runs the server from start to stop signal: databases, migrations, demo data, banner, graceful shutdown. */
import { setTimeout as pause } from "node:timers/promises";
import { createApp } from "./app.ts";
import { banner, printStatus, startupWarnings } from "../config/banner.ts";
import { toConfig, type Config } from "../config/config.ts";
import { readEnv } from "../config/env.ts";
import { prepareDataFolder } from "../dev/data-folder.ts";
import { ensureDemo, type Demo } from "../dev/demo/demo.ts";
import { openEmbeddedMongo } from "../dev/mongo/embedded-mongo.ts";
import { openEmbeddedPostgres } from "../dev/postgres/embedded-postgres.ts";
import { openSecretBox, requireSecret } from "../dev/secret-key.ts";
import { entities } from "./entities.ts";
import type { Reader } from "../core/postgres/database.ts";
import { StartupError } from "../core/errors.ts";
import { createLogger, type Logger } from "../core/logger.ts";
import { migrateDatabase } from "../core/postgres/migrate.ts";
import { openMongo, type Mongo } from "../core/mongo.ts";
import type { SecretBox } from "../core/secret-box.ts";
import { traceFields, type Tracing, type TracingSettings } from "../core/tracing/tracing.ts";
import { checkDatabase, hasSealedData, RECOVERED_MESSAGE } from "../restore/api.ts";

/** Runs the server with the settings of the environment. Prints a StartupError with its hint and sets exit code 1. */
export async function runFromEnvironment(): Promise<void> {
  try {
    await runServer(toConfig(readEnv()));
  } catch (error) {
    if (!(error instanceof StartupError)) throw error;
    printStatus(`${error.message}\n${error.hint}`);
    process.exitCode = 1;
  }
}

/** Runs until SIGTERM, SIGINT or SIGHUP. A second signal ends the process immediately. */
export async function runServer(config: Config): Promise<void> {
  const stopSignal = waitForSignal();
  const logger = createLogger(config.logLevel, undefined, config.tracing ? () => traceFields() : undefined);
  // Closed last, so that the shutdown of the others is traced too.
  await using tracing = await openTracing(config.tracing, logger);
  await using opened = new AsyncDisposableStack();
  if (config.demo || config.database.url === null) await prepareDataFolder(config.dataDir);
  requireSecret(config);
  // Not awaited: the API must start even if MongoDB does not.
  const mongo = startMongo(config, opened);
  const databaseUrl = config.database.url ?? (await startPostgres(config, opened));
  const openBox = (database: Reader): Promise<SecretBox> =>
    openSecretBox(config, () => hasSealedData(database));
  await migrateDatabase(
    { url: databaseUrl, poolSize: config.database.poolSize, entities },
    {
      afterMigrate: (database) =>
        checkDatabase(database, {
          openBox,
          onRecovered: (recovery) => logger.warn(recovery, RECOVERED_MESSAGE),
        }),
      onLockWait: (message) => logger.warn(message),
    },
  );
  // The startup check has passed, so a missing key file was created.
  const secretBox = await openSecretBox(config, () => Promise.resolve(true));
  await using app = await createApp(config, { databaseUrl, mongo, secretBox }, { logger, tracing });
  const demo: Demo | null = config.demo ? await ensureDemo({ ...app, dataDir: config.dataDir }) : null;
  const url = await app.listen({ explorerKey: demo?.test });
  for (const warning of startupWarnings(config)) logger.warn(warning);
  process.stdout.write(banner(config, url, demo, mongo.status()));
  const signal = await stopSignal;
  logger.info({ signal }, "stopping after answering the accepted requests");
  app.startDraining();
  // Until a load balancer's next readiness check it still sends requests here. SIGINT and SIGHUP come from a terminal, where
  // no load balancer is in front.
  if (signal === "SIGTERM") await pause(config.http.shutdownDrainDelayMs);
}

/** Loads OpenTelemetry's SDK only if tracing is configured. */
export async function openTracing(
  settings: TracingSettings | null,
  logger: Logger,
): Promise<Tracing | undefined> {
  return settings ? (await import("../core/tracing/sdk.ts")).openTracing(settings, logger) : undefined;
}

function startMongo({ mongo, dataDir, cacheDir }: Config, opened: AsyncDisposableStack): Mongo {
  if (mongo.url !== null) return opened.use(openMongo({ url: mongo.url }));
  const { binary, download } = mongo;
  const embedded = opened.use(
    openEmbeddedMongo({ dataDir, cacheDir, binary, download, onProgress: printStatus }),
  );
  embedded.url.catch((error: unknown) => {
    if (error instanceof Error && error.name === "AbortError") return;
    const hint = error instanceof StartupError ? `\n${error.hint}` : "";
    printStatus(`${error instanceof Error ? error.message : String(error)}${hint}`);
    printStatus(
      "Waymark continues without MongoDB (set MONGODB_URL to use your own): the API works and new webhooks are sent, but retries wait.",
    );
  });
  return opened.use(openMongo({ url: embedded.url }));
}

async function startPostgres({ dataDir }: Config, opened: AsyncDisposableStack): Promise<string> {
  return opened.use(await openEmbeddedPostgres({ dataDir, exclusive: true, onProgress: printStatus })).url;
}

/** A signal for a process group arrives twice: directly, and from the launcher of `npm start`. */
const REPEATED_SIGNAL_MS = 500;

/** Resolves with the first signal. A later one ends the process at once, unless it repeats the first within half a second. */
function waitForSignal(): Promise<NodeJS.Signals> {
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>();
  const signals = ["SIGTERM", "SIGINT", "SIGHUP"] as const;
  let first: { signal: NodeJS.Signals; atMs: number } | null = null;
  const onSignal = (signal: NodeJS.Signals): void => {
    first ??= { signal, atMs: performance.now() };
    resolve(first.signal);
    if (signal === first.signal && performance.now() - first.atMs < REPEATED_SIGNAL_MS) return;
    for (const each of signals) process.off(each, onSignal);
    process.kill(process.pid, signal);
  };
  for (const each of signals) process.on(each, onSignal);
  return promise;
}
