/** Entry point of the server (`npm start`). */
import { enableNodeCompileCache } from "./core/compile-cache.ts";

enableNodeCompileCache();
const { runFromEnvironment } = await import("./app/serve.ts");
await runFromEnvironment();
