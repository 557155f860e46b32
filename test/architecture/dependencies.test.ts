import { glob, readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { ICruiseResult } from "dependency-cruiser";
import { describe, expect, it } from "vitest";
import { cruiseTree } from "./cruise-tree.ts";
import { rules } from "./rules.ts";

const root = join(import.meta.dirname, "..", "..");
const fixtures = join(import.meta.dirname, "fixtures");
/** Fixtures of rules that check the text instead of the imports. */
const textFixtures = ["one-reader-of-the-environment"];

function violations(result: ICruiseResult): string[] {
  return result.summary.violations.map(({ rule, from, to }) => `${rule.name}: ${from} -> ${to}`);
}

/** Reads the source files under `src/` of a tree. */
async function readSources(baseDir: string): Promise<Map<string, string>> {
  const sources = new Map<string, string>();
  for await (const path of glob("src/**/*.{ts,tsx,mjs}", { cwd: baseDir })) {
    sources.set(path, await readFile(join(baseDir, path), "utf8"));
  }
  return sources;
}

/** Returns the files that read the environment; only `config/env.ts` may. */
function environmentReaders(sources: Map<string, string>): string[] {
  const reads = /\bprocess\s*(\?\.|\.|\[\s*["'`])\s*env\b|\benv\b.*from\s+["'](node:)?process["']/;
  const isComment = /^\s*(\/\/|\/?\*)/;
  return (
    [...sources]
      .filter(([path]) => path !== "src/config/env.ts")
      // Browser code has no `process`, so a match in the console is text to display.
      .filter(([path]) => !/^src\/console\/(?!build\.ts|vite\.config\.ts)/.test(path))
      .filter(([, text]) => text.split("\n").some((line) => !isComment.test(line) && reads.test(line)))
      .map(([path]) => path)
      .toSorted()
  );
}

/** Returns the files over 300 lines, except generated ones. Longer files should be split. */
function longFiles(sources: Map<string, string>): string[] {
  return [...sources]
    .filter(([path]) => !/^src\/(migrations|graphql\/generated|console\/generated)\//.test(path))
    .filter(([, text]) => text.trimEnd().split("\n").length > 300)
    .map(([path]) => path);
}

describe("the code under src/", () => {
  it("is completely parsed by dependency-cruiser", async () => {
    const { modules } = await cruiseTree(root);
    const seen = new Set(modules.map(({ source }) => source));
    const sources = await readSources(root);

    expect([...sources.keys()].filter((path) => !seen.has(path))).toEqual([]);
    expect(sources.size).toBeGreaterThan(40);
  });

  it("follows every architecture rule", async () => {
    expect(violations(await cruiseTree(root))).toEqual([]);
  });

  it("reads the environment only in config/env.ts", async () => {
    expect(environmentReaders(await readSources(root))).toEqual([]);
  });

  it("has no file over 300 lines", async () => {
    expect(longFiles(await readSources(root))).toEqual([]);
  });
});

describe("a tree that breaks a rule", () => {
  const broken: Record<string, string[]> = {
    "features-know-no-adapter": [
      "src/api-keys/api-key.service.ts -> ../../../../node_modules/express/index.js",
      "src/events/event.service.ts -> src/app/app.ts",
      "src/jobs/job.service.ts -> src/http/http.app.ts",
      "src/webhooks/endpoint.service.ts -> ../../../../node_modules/@apollo/server/dist/cjs/index.js",
    ],
    "one-entrance-per-feature": [
      "src/events/event.service.ts -> src/jobs/job.queries.ts",
      "src/http/jobs.routes.ts -> src/jobs/job.queries.ts",
    ],
    "platform-knows-no-feature": ["src/platform/database.ts -> src/config/config.ts"],
    "config-knows-no-feature": ["src/config/env.ts -> src/mail/api.ts"],
    "adapters-do-not-meet": ["src/cli/serve.ts -> src/http/envelope.ts"],
    "console-stands-alone": ["src/console/status.ts -> src/jobs/job.codes.ts"],
    "embedded-is-optional": ["src/http/ops/health.ts -> src/embedded/postgres.ts"],
    "tracing-is-loaded-on-demand": ["src/platform/logger.ts -> src/platform/tracing/sdk.ts"],
    "no-cycles": ["src/jobs/job.entity.ts -> src/jobs/job.filter.ts"],
  };

  it("exists in the fixtures for every rule", async () => {
    const names = rules.map(({ name }) => name);
    expect(Object.keys(broken)).toEqual(names);
    expect((await readdir(fixtures)).toSorted()).toEqual([...names, ...textFixtures].toSorted());
  });

  it.each(Object.entries(broken))("is reported: %s", async (name, edges) => {
    const reported = violations(await cruiseTree(join(fixtures, name)));
    expect(reported.toSorted()).toEqual(edges.map((edge) => `${name}: ${edge}`));
  });

  it("is reported: a second reader of the environment", async () => {
    const sources = await readSources(join(fixtures, "one-reader-of-the-environment"));
    expect(environmentReaders(sources)).toEqual(["src/http/http.app.ts", "src/jobs/job.service.ts"]);
  });

  it("is reported: a file of 301 lines", () => {
    const sources = new Map([
      ["src/jobs/long.ts", "line\n".repeat(301)],
      ["src/jobs/short.ts", "line\n".repeat(300)],
      ["src/migrations/long.ts", "line\n".repeat(301)],
    ]);
    expect(longFiles(sources)).toEqual(["src/jobs/long.ts"]);
  });
});
