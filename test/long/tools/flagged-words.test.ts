/** The check of `.cspell.config.ts`, which is part of `npm run check`. */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import config from "../../../.cspell.config.ts";

const ROOT = join(import.meta.dirname, "../../..");
const words = (config.flagWords ?? []).map((entry) => entry.split("->")[0] as string);
const capitalize = (word: string): string => `${word[0]?.toUpperCase()}${word.slice(1)}`;

describe("the check for flagged words", () => {
  let folder: string;
  let output: string;

  const samples: Readonly<Record<string, (word: string) => string>> = {
    "comment.ts": (word) => `// ${capitalize(word)} is what this comment says.`,
    "camel-case.ts": (word) => `export const first${capitalize(word)}Index = 1;`,
    "string.tsx": (word) => `export const text = "The ${word}'s own";`,
    "prose.md": (word) => `A sentence with ${word}.`,
    "schema.graphql": (word) => `type Query { ${word}_name: String }`,
    "clean.ts": () => "/** The principal's semaphore: Mendoza, bestseller, estranger. */",
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "waymark-words-"));
    for (const [file, sample] of Object.entries(samples))
      await writeFile(join(folder, file), words.map(sample).join("\n"));
    const { promise, resolve } = Promise.withResolvers<string>();
    const options = ["--no-progress", "--config", join(ROOT, ".cspell.config.ts"), "--root", folder];
    const files = Object.keys(samples).map((file) => join(folder, file));
    execFile(
      join(ROOT, "node_modules/.bin/cspell"),
      [...options, ...files],
      { cwd: ROOT },
      (_error, stdout) => resolve(stdout),
    );
    output = await promise;
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const flaggedIn = (file: string): string[] =>
    output
      .split("\n")
      .filter((line) => line.includes(`${file}:`))
      .map((line) => (/\((\w+)\)/.exec(line)?.[1] ?? line).toLowerCase());

  it.each(Object.keys(samples).filter((file) => file !== "clean.ts"))("finds every word in %s", (file) => {
    expect(flaggedIn(file)).toEqual(words);
  });

  it("accepts words that only contain a flagged word", () => {
    expect(flaggedIn("clean.ts")).toEqual([]);
  });
});
