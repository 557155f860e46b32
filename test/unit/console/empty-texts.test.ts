/** Texts of the console that stand where a list is empty. */
import { glob, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";

const CONSOLE = join(import.meta.dirname, "../../../src/console");

/** Components that require a link to the guide. */
const EXPLAINED = new Set(["EmptyNote", "EmptyState"]);

/** Missing values of one thing, and a question. */
const OTHERS = ["No account yet?", "No body", "No message", "None", "None"];

const NOTHING = /<(\w+)[^<>]*>\s*((?:No|None|Nothing)\b[^<{]*)/g;

it("an empty list says so in a component that links the guide", async () => {
  const plain: string[] = [];
  for await (const file of glob("**/*.tsx", { cwd: CONSOLE })) {
    const source = await readFile(join(CONSOLE, file), "utf8");
    for (const [, component = "", text = ""] of source.matchAll(NOTHING))
      if (!EXPLAINED.has(component)) plain.push(text.trim());
  }
  expect(plain.toSorted()).toEqual(OTHERS);
});
