/**
 * Loaded with `--import`. Serves the source files whose functions ran in this process: `GET /?until=TEXT` on COVERAGE_PORT
 * starts to count, and responds with the paths once a SQL statement that contains TEXT is about to be sent.
 */
import { createServer, type ServerResponse } from "node:http";
import { Session, type Profiler } from "node:inspector";
import { relative } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import pg from "pg";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const session = new Session();
session.connect();
session.post("Profiler.enable");
session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });

/** Returns the files entered since the last call. The inspector calls back synchronously. */
function takeEnteredFiles(): string[] {
  let scripts: Profiler.ScriptCoverage[] = [];
  session.post("Profiler.takePreciseCoverage", (_error, { result }) => (scripts = result));
  return scripts
    .filter(({ url }) => url.startsWith("file:") && !url.includes("/node_modules/"))
    .filter(({ functions }) => functions.some(({ ranges }) => ranges.some(({ count }) => count > 0)))
    .map(({ url }) => relative(root, fileURLToPath(url)))
    .filter((path) => path.startsWith("src/"))
    .toSorted();
}

let awaited: { text: string; resolve: (files: string[]) => void } | null = null;

// Called with its client as `this` below.
// oxlint-disable-next-line typescript/unbound-method
const { query } = pg.Client.prototype;
pg.Client.prototype.query = function recordAndQuery(this: pg.Client, ...parameters: unknown[]): unknown {
  const [statement] = parameters as [string | { text?: string }];
  const text = typeof statement === "string" ? statement : statement.text;
  if (awaited && text?.includes(awaited.text)) {
    awaited.resolve(takeEnteredFiles());
    awaited = null;
  }
  return Reflect.apply(query, this, parameters) as unknown;
} as typeof query;

/** Resolves when no source file ran for a moment, so that an earlier request or delivery has ended. */
async function waitUntilIdle(): Promise<void> {
  for (let time = 0; time < 40; time += 1) {
    takeEnteredFiles();
    await delay(50);
    if (takeEnteredFiles().length === 0) return;
  }
}

/** Counts until a statement contains `text`. The headers tell the test that counting has started. */
async function startCounting(text: string, response: ServerResponse): Promise<void> {
  await waitUntilIdle();
  awaited = { text, resolve: (files) => response.end(JSON.stringify(files)) };
  response.flushHeaders();
  takeEnteredFiles();
}

createServer((request, response) => {
  const { searchParams } = new URL(request.url ?? "", "http://localhost");
  void startCounting(searchParams.get("until") ?? "", response);
})
  .listen(Number(process.env["COVERAGE_PORT"]), "127.0.0.1")
  .unref();
