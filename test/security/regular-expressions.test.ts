/**
 * Checks that all regular expressions in src run in linear time. scslre finds overlapping repetitions and quadratic searches.
 * This file also finds alternatives within a repetition that can begin alike, which scslre does not check.
 */
import { glob, readFile } from "node:fs/promises";
import { join } from "node:path";
import { parse, type Module } from "@swc/core";
import { getFirstConsumedChar, toCache, type ReadonlyFlags } from "regexp-ast-analysis";
import { analyse } from "scslre";
import { beforeAll, describe, expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
/** Generated files, which contain no regular expressions. */
const EXCLUDED_FILES = /^src\/(graphql|console)\/generated\//;

interface Found {
  file: string;
  source: string;
  flags: string;
}

/** A node of the syntax tree of a TypeScript file or of a regular expression. */
type SyntaxNode = Readonly<Record<string, unknown>> & { readonly type: string };

const isSyntaxNode = (value: unknown): value is SyntaxNode =>
  typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";

/** Properties not to follow: in TypeScript trees they contain no nodes, in regular expressions they point back. */
const SKIPPED_PROPERTIES = new Set(["parent", "span", "resolved", "references"]);

/** Returns `root` and all nodes below it. */
function nodesOf(root: unknown): SyntaxNode[] {
  const nodes: SyntaxNode[] = [];
  const stack = [root];
  while (stack.length > 0) {
    const value = stack.pop();
    if (isSyntaxNode(value)) nodes.push(value);
    if (typeof value !== "object" || value === null) continue;
    for (const [name, child] of Object.entries(value)) {
      if (typeof child === "object" && child !== null && !SKIPPED_PROPERTIES.has(name)) stack.push(child);
    }
  }
  return nodes;
}

async function parseFile(file: string): Promise<Module> {
  const text = await readFile(join(ROOT, file), "utf8");
  return await parse(text, { syntax: "typescript", tsx: file.endsWith("x"), target: "es2024" });
}

async function expressionsOf(file: string): Promise<Found[]> {
  return nodesOf(await parseFile(file))
    .filter(({ type }) => type === "RegExpLiteral")
    .map(({ pattern, flags }) => ({ file, source: String(pattern), flags: String(flags) }));
}

/** Finds alternatives within a repetition that can begin with the same character, so that matching may backtrack. */
function ambiguities(pattern: unknown, flags: ReadonlyFlags): string[] {
  const repeated = nodesOf(pattern).filter(({ type, max }) => type === "Quantifier" && Number(max) > 1);
  return repeated.flatMap(({ element }) => {
    const { alternatives = [] } = element as { alternatives?: Parameters<typeof getFirstConsumedChar>[0][] };
    const firsts = alternatives.map((each) => getFirstConsumedChar(each, "ltr", flags).char);
    return firsts.flatMap((first, index) =>
      firsts.slice(index + 1).some((other) => !first.isDisjointWith(other))
        ? ["alternatives that begin alike"]
        : [],
    );
  });
}

/** Returns the reasons why the expression may take more than linear time. */
function faultsOf({ source, flags }: Pick<Found, "source" | "flags">): string[] {
  const { reports, parsed } = analyse({ source, flags });
  const repeated = reports.map(
    ({ type, exponential, character }) =>
      `${exponential ? "exponential" : "polynomial"} (${type}) over ${JSON.stringify(character.pick)}`,
  );
  return [...repeated, ...ambiguities(parsed.pattern, toCache(parsed.flags))];
}

describe("regular expressions", () => {
  let found: Found[];
  beforeAll(async () => {
    const files: string[] = [];
    for await (const file of glob("src/**/*.{ts,tsx,mjs}", { cwd: ROOT }))
      if (!EXCLUDED_FILES.test(file) && !file.endsWith(".d.ts")) files.push(file);
    found = (await Promise.all(files.map(expressionsOf))).flat();
  });

  // evidence: regex-linear-time
  it("in src take linear time", () => {
    expect(found.length).toBeGreaterThan(100);
    const faults = found.flatMap((each) =>
      faultsOf(each).map((fault) => `${each.file}: /${each.source}/${each.flags} is ${fault}`),
    );
    expect(faults).toEqual([]);
  });

  // evidence: regex-slow-patterns-found
  it.each([
    ["adjacent repetitions of the same character", "^\\d+\\d+$"],
    ["nested repetitions", "^(\\w+)+$"],
    ["a repetition before the end, tried from every position", "/+$"],
    ["alternatives that can begin alike", "^(?:a|a)*$"],
    ["an ambiguous e-mail pattern", "^([a-z]+\\.?)+@x$"],
  ])("that do not are found: %s", (_, source) => {
    expect(faultsOf({ source, flags: "" })).not.toEqual([]);
  });
});
