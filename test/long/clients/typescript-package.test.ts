/** The package of the TypeScript client: generated part, types and size. */
import { execFile, spawn } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ApiError } from "../../../clients/typescript/src/errors.ts";
import { toApiError } from "../../../clients/typescript/src/to-api-error.ts";
import { generateTypescriptClient } from "../../../scripts/generate-typescript-client.ts";
import { errorCodes } from "../../../src/core/errors.ts";
import { waitForExit } from "../../support/processes/cli-process.ts";
import { CLIENT_FOLDER, clientModules, installTypescriptClient } from "../../support/clients/typescript.ts";

const TIMEOUT_MS = 120_000;
const ROOT = join(CLIENT_FOLDER, "..", "..");
const run = promisify(execFile);
const opened = new AsyncDisposableStack();

let folder: string;
/** The folder of the installed package. */
let installed: string;

beforeAll(async () => {
  ({ folder, installed } = opened.use(await installTypescriptClient()));
}, TIMEOUT_MS);
afterAll(() => opened.disposeAsync());

describe("the generated part", () => {
  it("is up to date with the OpenAPI document (npm run codegen)", async () => {
    const path = join(CLIENT_FOLDER, "src", "generated", "api.ts");
    expect(await readFile(path, "utf8")).toBe(generateTypescriptClient());
  });

  it("keeps new codes open, null apart from absent, and objects open to new members", () => {
    const text = generateTypescriptClient();
    expect(text).toContain('type: "key" | "user" | "system" | (string & {});');
    expect(text).toContain("weight?: number | null;");
    expect(text).toContain("normalized_status: StatusCode;");
    expect(text).toMatch(/export type StatusCode =\n {2}\| "pending"\n[^;]*\n {2}\| \(string & \{\}\);/);
  });
});

it("has a class for each error code", () => {
  const classes = errorCodes.map((code) => {
    const response = new Response("", { status: 400 });
    return toApiError(response, { error: { code, message: "" } }).constructor;
  });
  expect(new Set(classes).size).toBe(errorCodes.length);
  expect(classes).not.toContain(ApiError);
});

/** Returns the lines of `program` with errors. */
async function compile(compiler: string, program: string, name = "program.ts"): Promise<number[]> {
  const path = join(folder, name);
  await writeFile(path, program);
  const flags = "--strict --exactOptionalPropertyTypes --noUncheckedIndexedAccess --noEmit --target es2022";
  const modules = "--module nodenext --lib es2022,dom,dom.iterable --types node --typeRoots";
  const args = [...`${flags} ${modules}`.split(" "), join(ROOT, "node_modules", "@types"), path];
  const tsc = join(ROOT, "node_modules", compiler, "bin", "tsc");
  const { stdout } = await waitForExit(spawn(process.execPath, [tsc, ...args], { cwd: folder }));
  const errors = stdout.split("\n").filter((line) => line.includes("error TS"));
  // An error elsewhere is in line -1.
  return errors.map((line) => Number(/^program\.c?ts\((\d+),/.exec(line)?.[1] ?? -1));
}

describe("the types", { timeout: TIMEOUT_MS }, () => {
  const compilers = ["typescript", "typescript5"];

  it.each(compilers)("accept a program that uses every operation: %s", async (compiler) => {
    const path = join(import.meta.dirname, "../../support/clients/every-typescript-operation.ts");
    const source = (await readFile(path, "utf8")).replace(
      /"[^"]*clients\/typescript[^"]*"/,
      '"@waymark/client"',
    );
    expect(await compile(compiler, source)).toEqual([]);
  });

  it.each(compilers)("accept a CommonJS program: %s", async (compiler) => {
    const lines = [
      'import { Waymark, type Job } from "@waymark/client";',
      'const waymark = new Waymark({ apiKey: "k", baseUrl: "http://127.0.0.1" });',
      'const job: PromiseLike<Job> = waymark.jobs.get("WM-1");',
      "const wrong: PromiseLike<string> = job;",
    ];
    expect(await compile(compiler, lines.join("\n"), "program.cts")).toEqual([4]);
  });

  it.each(compilers)(
    "reject misspelt fields, wrong types and null where it is not allowed: %s",
    async (compiler) => {
      const lines = [
        'import { Waymark, type Job } from "@waymark/client";',
        'const waymark = new Waymark({ apiKey: "k", baseUrl: "http://127.0.0.1" });',
        'await waymark.jobs.update("WM-1", { wieght: 1 });',
        'await waymark.jobs.update("WM-1", { weight: "heavy" });',
        'await waymark.jobs.update("WM-1", { normalized_status: null });',
        'await waymark.jobs.listPage({ sort: "weight" });',
        'const job: Job = waymark.jobs.get("WM-1");',
        "new Waymark({});",
        "waymark.events.follow({ store: { load: () => null, save() {} } });",
        'const status: string = (await waymark.jobs.get("WM-1")).normalized_status;',
        "for await (const listed of waymark.jobs.list()) ((job: Job): string => job.id)(listed);",
      ];
      expect(await compile(compiler, lines.join("\n"))).toEqual([3, 4, 5, 6, 7, 8, 9]);
    },
  );
});

describe("the package", { timeout: TIMEOUT_MS }, () => {
  it("has no dependencies, and at most 20 kB of JavaScript after gzip", async () => {
    const { stdout } = await run("find", [installed, "-name", "*.js"]);
    const files = await Promise.all(
      stdout
        .trim()
        .split("\n")
        .map((path) => readFile(path)),
    );
    const packed = JSON.parse(await readFile(join(installed, "package.json"), "utf8")) as object;

    expect(Object.keys(packed).filter((name) => name.endsWith("ependencies"))).toEqual([]);
    expect(gzipSync(Buffer.concat(files), { level: 9 }).length).toBeLessThanOrEqual(20_000);
  });

  it("imports Node's modules only for the command line", async () => {
    const importers = await Promise.all(
      (await clientModules()).map(async (path) => {
        const source = await readFile(join(CLIENT_FOLDER, "src", path), "utf8");
        return /from "(?!\.)|\b(process|Buffer|require)\b[.(]/.test(source) ? [path] : [];
      }),
    );
    expect(importers.flat()).toEqual(["listen/arguments.ts", "listen/main.ts"]);
  });
});
