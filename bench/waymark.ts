/** Runs the whole Waymark app in its own process, started by `servers.ts`, to which it sends its URL. */
import { createApp } from "../src/app/app.ts";
import { openTracing } from "../src/app/serve.ts";
import { createLogger } from "../src/core/logger.ts";
import { toConfig } from "../src/config/config.ts";
import { readEnv } from "../src/config/env.ts";
import { openMongo } from "../src/core/mongo.ts";
import { createSecretBox } from "../src/core/secret-box.ts";

const config = toConfig(readEnv());
const mongo = openMongo({ url: config.mongo.url });
const box = createSecretBox(Buffer.alloc(32));
const tracing = await openTracing(config.tracing, createLogger(config.logLevel));
const app = await createApp(
  config,
  { databaseUrl: config.database.url as string, mongo, secretBox: box },
  { tracing },
);
process.send?.({ url: await app.listen() });
process.once("disconnect", () => void app[Symbol.asyncDispose]().then(() => mongo[Symbol.asyncDispose]()));
