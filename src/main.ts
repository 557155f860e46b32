/** Waymark's server, as `npm start` runs it. */
import { enableNodeCompileCache } from "./platform/compile-cache.ts";

enableNodeCompileCache();
const { runFromEnvironment } = await import("./app/serve.ts");
await runFromEnvironment();
