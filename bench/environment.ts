/** The data folder of the benchmark commands, and their progress on standard error. */
import { join, resolve } from "node:path";

/** Contains PostgreSQL, MongoDB and kept results. BENCH_DATA_DIR names another folder. */
export const dataFolder = resolve(
  process.env["BENCH_DATA_DIR"] ?? join(import.meta.dirname, "../.waymark-bench"),
);

const cacheHome = process.env["XDG_CACHE_HOME"] ?? join(process.env["HOME"] ?? "", ".cache");
/** Waymark's cache of downloaded programs has the `mongod`. */
export const mongodSources = {
  cacheDir: join(cacheHome, "waymark"),
  binary: process.env["MONGOD_BINARY"] ?? null,
  download: "any",
} as const;

const startedMs = performance.now();

/** Prints a line with the seconds since the start. */
export function onProgress(text: string): void {
  console.error(`${Math.round((performance.now() - startedMs) / 1000)} s: ${text}`);
}
