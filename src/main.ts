/** Entry point of the server (`npm start`). */
import { enableNodeCompileCache } from "./core/compile-cache.ts";

enableNodeCompileCache();
const { runFromEnvironment } = await import("./app/serve.ts");
await runFromEnvironment();
// Agenda leaves a timer of half a lock's lifetime for each task, which would keep the process alive.
process.exit();
