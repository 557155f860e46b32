import { glob, readFile, readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { ICruiseResult } from "dependency-cruiser";
import { beforeAll, describe, expect, it } from "vitest";
import { cruiseTree } from "./cruise-tree.ts";
import { budgets } from "./budgets.ts";
import { rules } from "./rules.ts";

const root = join(import.meta.dirname, "..", "..");
const fixtures = join(import.meta.dirname, "fixtures");
/** Fixtures of rules that check the text instead of the imports. */
const textFixtures = ["one-reader-of-the-environment"];

function violations(result: ICruiseResult): string[] {
  return result.summary.violations.map(({ rule, from, to }) => `${rule.name}: ${from} -> ${to}`);
}

/** Reads the source files under `src/` of a tree, or those of another pattern. */
async function readSources(baseDir: string, pattern = "src/**/*.{ts,tsx,mjs}"): Promise<Map<string, string>> {
  const sources = new Map<string, string>();
  for await (const path of glob(pattern, { cwd: baseDir, exclude: ["**/node_modules"] })) {
    sources.set(path, await readFile(join(baseDir, path), "utf8"));
  }
  return sources;
}

/** `config/env.ts` reads the environment; the launcher passes it on to the server. */
const READS_ENVIRONMENT = new Set(["src/config/env.ts", "src/start.mjs"]);

/** Returns the other files that read the environment. */
function environmentReaders(sources: Map<string, string>): string[] {
  const reads = /\bprocess\s*(\?\.|\.|\[\s*["'`])\s*env\b|\benv\b.*from\s+["'](node:)?process["']/;
  const isComment = /^\s*(\/\/|\/?\*)/;
  return (
    [...sources]
      .filter(([path]) => !READS_ENVIRONMENT.has(path))
      // Browser code has no `process`, so a match in the console is text to display.
      .filter(([path]) => !/^src\/console\/(?!build\.ts|vite\.config\.ts)/.test(path))
      .filter(([, text]) => text.split("\n").some((line) => !isComment.test(line) && reads.test(line)))
      .map(([path]) => path)
      .toSorted()
  );
}

/** Returns the adapters' files that use an entity manager, or run a statement or transaction themselves. */
function statementRunners(sources: Map<string, string>): string[] {
  const runs = /\.em\(\)|\b(database|reader|tx)\.(query|transaction|transactional|tryTransaction)\b/;
  return [...sources]
    .filter(([path, text]) => /^src\/(api|cli|scheduling)\//.test(path) && runs.test(text))
    .map(([path]) => path)
    .toSorted();
}

/** Decisions of the gate, and the files of an adapter that call it for every operation of their interface. */
const gateRules = {
  access: { pattern: /"(jobs|webhooks|keys):(read|write|manage)"|requireFreshAuthentication/, allowed: [] },
  rate: {
    pattern: /\btakeTokens\(/,
    allowed: [
      "graphql/authenticate.ts",
      "graphql/execution/operation-guard.ts",
      "graphql/jobs-csv.routes.ts",
      "graphql/subscriptions/protocol.ts",
      "rest/operation-routes.ts",
    ],
  },
  validation: {
    pattern: /from "zod"|\.safeParse\(/,
    allowed: [
      "console/import.schema.ts",
      "console/routes.ts",
      "graphql/operation-mutations.ts",
      "rest/read-input.ts",
      "rest/wire.ts",
    ],
  },
};

/** Returns the files of the API that decide about one capability what its declaration or service should say. */
function ownDecisions(sources: Map<string, string>): string[] {
  const adapters = [...sources].filter(([path]) =>
    /^src\/api\/(?!rest\/openapi\/|graphql\/generated\/)/.test(path),
  );
  return Object.entries<{ pattern: RegExp; allowed: string[] }>(gateRules).flatMap(
    ([rule, { pattern, allowed }]) =>
      adapters
        .filter(([path, text]) => !allowed.includes(path.replace("src/api/", "")) && pattern.test(text))
        .map(([path]) => `${path}: ${rule}`),
  );
}

/** Returns the files over 400 lines, except generated ones. Longer files should be split. */
function longFiles(sources: Map<string, string>): string[] {
  return [...sources]
    .filter(([path]) => !/^src\/(migrations|api\/graphql\/generated|console\/generated)\//.test(path))
    .filter(([, text]) => text.trimEnd().split("\n").length > 400)
    .map(([path]) => path);
}

/** Folders that have no budget: parts of the product beside the server, and what is generated or never changes. */
const WITHOUT_BUDGET = /^src\/(console|guide|sdk|migrations)\/|^src\/[^/]+$|\/generated\//;

/** Returns the lines of each folder with a budget, without those of folders in it that have their own. */
function linesByFolder(sources: Map<string, string>): Map<string, number> {
  const lines = new Map(Object.keys(budgets).map((folder) => [folder, 0]));
  for (const [path, text] of sources) {
    if (WITHOUT_BUDGET.test(path)) continue;
    const folders = [...lines.keys()].filter((folder) => path.startsWith(`${folder}/`));
    const folder = folders.toSorted((one, other) => other.length - one.length)[0] ?? dirname(path);
    lines.set(folder, (lines.get(folder) ?? 0) + text.split("\n").length - 1);
  }
  return lines;
}

/** Returns the folders with more lines than their budget, or without one. */
function overBudget(sources: Map<string, string>): string[] {
  return [...linesByFolder(sources)]
    .filter(([folder, count]) => count > (budgets[folder] ?? 0))
    .map(([folder, count]) => `${folder}: ${count} lines, budget ${budgets[folder] ?? 0}`);
}

/** The `*.sql.ts` files that the decision record names, one in each row of its tables. */
async function recordedSqlFiles(): Promise<string[]> {
  const text = await readFile(join(root, "docs/decisions/0061-sql-only-where-it-is-hot.md"), "utf8");
  return [...text.matchAll(/^\| `(\S+\.sql\.ts)` \|/gm)].map(([, path = ""]) => `src/${path}`);
}

describe("the code under src/", () => {
  let cruised: ICruiseResult;
  beforeAll(async () => {
    cruised = await cruiseTree(root);
  });

  it("is completely parsed by dependency-cruiser", async () => {
    const seen = new Set(cruised.modules.map(({ source }) => source));
    const sources = await readSources(root);

    expect([...sources.keys()].filter((path) => !seen.has(path))).toEqual([]);
    expect(sources.size).toBeGreaterThan(40);
  });

  it("follows every architecture rule", () => {
    expect(violations(cruised)).toEqual([]);
  });

  it("has SQL files that the decision record lists, and no others", async () => {
    const sqlFiles = [...(await readSources(root)).keys()].filter((path) => path.endsWith(".sql.ts"));
    expect((await recordedSqlFiles()).toSorted()).toEqual(sqlFiles.toSorted());
  });

  it("reads the environment only in config/env.ts", async () => {
    expect(environmentReaders(await readSources(root))).toEqual([]);
  });

  it("runs no statement in an adapter", async () => {
    expect(statementRunners(await readSources(root))).toEqual([]);
  });

  it("decides about access, rate and validation in no adapter", async () => {
    expect(ownDecisions(await readSources(root))).toEqual([]);
  });

  it("has no file over 400 lines", async () => {
    expect(longFiles(await readSources(root))).toEqual([]);
  });
});

describe("the lines of a folder", () => {
  it("are within its budget", async () => {
    expect(overBudget(await readSources(root, "{src,test,bench}/**/*.{ts,tsx,mjs}"))).toEqual([]);
  });

  it("are reported if they are over the budget, or if the folder has none", () => {
    const sources = new Map([
      ["src/audit/long.ts", "line\n".repeat(1_000)],
      ["src/api/graphql/short.ts", "line\n"],
      ["src/billing/invoice.ts", "line\n"],
      ["src/main.ts", "line\n"],
    ]);
    expect(overBudget(sources)).toEqual([
      `src/audit: 1000 lines, budget ${budgets["src/audit"]}`,
      "src/billing: 1 lines, budget 0",
    ]);
  });
});

describe("a tree that breaks a rule", () => {
  const broken: Record<string, string[]> = {
    "features-know-no-adapter": [
      "src/api-keys/api-key.service.ts -> ../../../../node_modules/express/index.js",
      "src/events/event.service.ts -> src/app/app.ts",
      "src/jobs/job.service.ts -> src/api/http.app.ts",
      "src/webhooks/endpoint.service.ts -> ../../../../node_modules/@apollo/server/dist/cjs/index.js",
    ],
    "one-entrance-per-feature": [
      "src/events/event.service.ts -> src/jobs/job.queries.ts",
      "src/api/jobs.routes.ts -> src/jobs/job.queries.ts",
    ],
    "core-knows-no-feature": ["src/core/database.ts -> src/config/config.ts"],
    "config-knows-no-feature": ["src/config/env.ts -> src/mail/api.ts"],
    "adapters-do-not-meet": ["src/cli/serve.ts -> src/api/envelope.ts"],
    "rest-knows-no-graphql": ["src/api/express-app.ts -> src/api/graphql/server.ts"],
    "console-stands-alone": ["src/console/status.ts -> src/jobs/job.codes.ts"],
    "dev-is-optional": ["src/api/ops/health.ts -> src/dev/postgres.ts"],
    "tracing-is-loaded-on-demand": ["src/core/logger.ts -> src/core/tracing/sdk.ts"],
    "sql-only-where-it-is-hot": ["src/billing/invoice.service.ts -> src/core/postgres/sql.ts"],
    "adapters-use-services": [
      "src/cli/listen.sql.ts -> src/core/postgres/sql.ts",
      "src/api/keys.routes.ts -> ../../../../node_modules/@mikro-orm/postgresql/index.js",
    ],
    "no-cycles": ["src/jobs/job.entity.ts -> src/jobs/job.filter.ts"],
  };

  it("exists in the fixtures for every rule", async () => {
    const names = rules.map(({ name }) => name);
    expect(Object.keys(broken)).toEqual(names);
    expect((await readdir(fixtures)).toSorted()).toEqual([...names, ...textFixtures].toSorted());
  });

  it.each(Object.entries(broken))("is reported: %s", async (name, edges) => {
    const reported = violations(await cruiseTree(join(fixtures, name)));
    expect(reported.toSorted()).toEqual(edges.map((edge) => `${name}: ${edge}`).toSorted());
  });

  it("is reported: a second reader of the environment", async () => {
    const sources = await readSources(join(fixtures, "one-reader-of-the-environment"));
    expect(environmentReaders(sources)).toEqual(["src/api/http.app.ts", "src/jobs/job.service.ts"]);
  });

  it("is reported: a statement in an adapter", () => {
    const sources = new Map([
      ["src/api/keys.routes.ts", "const keys = await context.database.em().find(ApiKey, {});"],
      ["src/api/graphql/loaders.ts", "const rows = await database.query<Row>(statement);"],
      ["src/cli/jobs.ts", "const jobs = await services.jobs.list(principal, query, database);"],
      ["src/jobs/job.service.ts", "await database.transaction(run);"],
    ]);
    expect(statementRunners(sources)).toEqual(["src/api/graphql/loaders.ts", "src/api/keys.routes.ts"]);
  });

  it("is reported: access, rate and validation in an adapter", () => {
    const sources = new Map([
      ["src/api/graphql/resolvers/job.ts", 'authorize(context, "jobs:read");'],
      ["src/api/keys.routes.ts", "requireFreshAuthentication(principal, now);"],
      ["src/api/graphql/resolvers/webhook.ts", "await takeTokens(limits, subject, { kind }, setHeader);"],
      ["src/api/graphql/resolvers/account.ts", "const days = daysValue.safeParse(args.days);"],
      ["src/api/rest/read-input.ts", "const result = schema.safeParse(raw);"],
      ["src/webhooks/operations.ts", 'const manage = { scopes: ["webhooks:manage"] };'],
    ]);
    expect(ownDecisions(sources)).toEqual([
      "src/api/graphql/resolvers/job.ts: access",
      "src/api/keys.routes.ts: access",
      "src/api/graphql/resolvers/webhook.ts: rate",
      "src/api/graphql/resolvers/account.ts: validation",
    ]);
  });

  it("is reported: a file of 401 lines", () => {
    const sources = new Map([
      ["src/jobs/long.ts", "line\n".repeat(401)],
      ["src/jobs/short.ts", "line\n".repeat(400)],
      ["src/migrations/long.ts", "line\n".repeat(401)],
    ]);
    expect(longFiles(sources)).toEqual(["src/jobs/long.ts"]);
  });
});
