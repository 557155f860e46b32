/** Entry point of the server (`npm start`). */
import { enableNodeCompileCache } from "./platform/compile-cache.ts";

enableNodeCompileCache();
const { runFromEnvironment } = await import("./app/serve.ts");
await runFromEnvironment();
