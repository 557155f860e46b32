/** A server from start to signal: its database, its schema, the demo, the banner, and a stop that loses nothing. */
import { createApp } from "./app.ts";
import { banner } from "./config/summary.ts";
import type { Config } from "./config/config.ts";
import { prepareDataFolder } from "./embedded/data-folder.ts";
import { ensureDemo, type DemoKeys } from "./embedded/demo.ts";
import { openEmbeddedPostgres, type EmbeddedPostgres } from "./embedded/postgres.ts";
import { entities } from "./entities.ts";
import { createLogger } from "./platform/logger.ts";
import { migrateDatabase } from "./platform/migrate.ts";

/** Runs until SIGTERM, SIGINT or SIGHUP. A second signal ends it at once. */
export async function runServer(config: Config): Promise<void> {
  const stopSignal = nextSignal();
  const logger = createLogger(config.logLevel);
  const embedded = await openEmbedded(config);
  try {
    const url = embedded?.url ?? (config.database.url as string);
    await migrateDatabase({ url, poolSize: config.database.poolSize, entities });
    await using app = await createApp(config, url, { logger });
    const demo: DemoKeys | null = config.demo ? await ensureDemo({ ...app, dataDir: config.dataDir }) : null;
    process.stdout.write(banner(config, await app.listen(), demo));
    logger.info({ signal: await stopSignal }, "stopping: what was accepted is answered first");
  } finally {
    await embedded?.[Symbol.asyncDispose]();
  }
}

async function openEmbedded(config: Config): Promise<EmbeddedPostgres | null> {
  if (config.demo || config.database.url === null) await prepareDataFolder(config.dataDir);
  if (config.database.url !== null) return null;
  return await openEmbeddedPostgres({ dataDir: config.dataDir, exclusive: true, onProgress: say });
}

function say(sentence: string): void {
  process.stderr.write(`${sentence}\n`);
}

function nextSignal(): Promise<NodeJS.Signals> {
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>();
  // `once`: after the first, a signal does what it does by default, and ends the process.
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.once(signal, () => resolve(signal));
  return promise;
}
