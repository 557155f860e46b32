/** Waymark itself, whole, in a process of its own: started by `servers.ts`, which it tells its address. */
import { createApp } from "../src/app.ts";
import { toConfig } from "../src/config/config.ts";
import { readEnv } from "../src/config/env.ts";

const config = toConfig(readEnv());
const app = await createApp(config, config.database.url as string);
process.send?.({ url: await app.listen() });
process.once("disconnect", () => void app[Symbol.asyncDispose]());
