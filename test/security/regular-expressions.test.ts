/**
 * No regular expression of the product takes more than linear time over what it is held against, whoever wrote that.
 * scslre finds what two repetitions can share, and what is begun anew at every place; alternatives that begin alike within a
 * repetition, which it does not look at, are looked for here.
 */
import { glob, readFile } from "node:fs/promises";
import { join } from "node:path";
import { parse, type Module } from "@swc/core";
import { getFirstConsumedChar, toCache, type ReadonlyFlags } from "regexp-ast-analysis";
import { analyse } from "scslre";
import { beforeAll, describe, expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
/** Generated, and without any. */
const LEFT_OUT = /^src\/(graphql|console)\/generated\//;

interface Found {
  file: string;
  source: string;
  flags: string;
}

/** A part of a syntax tree, of TypeScript's or of a regular expression's. */
type Part = Readonly<Record<string, unknown>> & { readonly type: string };

const isPart = (value: unknown): value is Part =>
  typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";

/** Of a tree of TypeScript none of these leads to another part, and those of a regular expression lead back. */
const ASIDE = new Set(["parent", "span", "resolved", "references"]);

/** Every part below `root`, itself included. */
function partsOf(root: unknown): Part[] {
  const parts: Part[] = [];
  const left = [root];
  while (left.length > 0) {
    const value = left.pop();
    if (isPart(value)) parts.push(value);
    if (typeof value !== "object" || value === null) continue;
    for (const [name, inner] of Object.entries(value)) {
      if (typeof inner === "object" && inner !== null && !ASIDE.has(name)) left.push(inner);
    }
  }
  return parts;
}

async function parseFile(file: string): Promise<Module> {
  const text = await readFile(join(ROOT, file), "utf8");
  return await parse(text, { syntax: "typescript", tsx: file.endsWith("x"), target: "es2024" });
}

async function expressionsOf(file: string): Promise<Found[]> {
  return partsOf(await parseFile(file))
    .filter(({ type }) => type === "RegExpLiteral")
    .map(({ pattern, flags }) => ({ file, source: String(pattern), flags: String(flags) }));
}

/** Alternatives within a repetition that can begin with the same character: each repetition may take either. */
function ambiguities(pattern: unknown, flags: ReadonlyFlags): string[] {
  const repeated = partsOf(pattern).filter(({ type, max }) => type === "Quantifier" && Number(max) > 1);
  return repeated.flatMap(({ element }) => {
    const { alternatives = [] } = element as { alternatives?: Parameters<typeof getFirstConsumedChar>[0][] };
    const firsts = alternatives.map((each) => getFirstConsumedChar(each, "ltr", flags).char);
    return firsts.flatMap((first, at) =>
      firsts.slice(at + 1).some((other) => !first.isDisjointWith(other))
        ? ["alternatives that begin alike"]
        : [],
    );
  });
}

/** Why it may take more than linear time; empty where it does not. */
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
      if (!LEFT_OUT.test(file) && !file.endsWith(".d.ts")) files.push(file);
    found = (await Promise.all(files.map(expressionsOf))).flat();
  });

  // evidence: regex-linear-time
  it("of the product take linear time, whatever they are held against", () => {
    expect(found.length).toBeGreaterThan(100);
    const faults = found.flatMap((each) =>
      faultsOf(each).map((fault) => `${each.file}: /${each.source}/${each.flags} is ${fault}`),
    );
    expect(faults).toEqual([]);
  });

  // evidence: regex-slow-patterns-found
  it.each([
    ["two repetitions of the same", "^\\d+\\d+$"],
    ["a repetition of repetitions", "^(\\w+)+$"],
    ["an end that is looked for from everywhere", "/+$"],
    ["alternatives that begin alike", "^(?:a|a)*$"],
    ["an ambiguous address", "^([a-z]+\\.?)+@x$"],
  ])("that do not are found: %s", (_, source) => {
    expect(faultsOf({ source, flags: "" })).not.toEqual([]);
  });
});
