/** Waymark's server, as `npm start` runs it. */
import { keepCompiled } from "./platform/compile-cache.ts";

keepCompiled();
const { runFromEnvironment } = await import("./serve.ts");
await runFromEnvironment();
