import { readdir, readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { generateConsoleDocuments } from "../../scripts/generate-console-documents.ts";

const folder = new URL("../../src/console/generated/", import.meta.url);

it("the console's documents are up to date with its *.graphql files and the SDL (npm run codegen)", async () => {
  const generated = await generateConsoleDocuments();
  const names = await readdir(folder);
  const written = await Promise.all(names.map((name) => readFile(new URL(name, folder), "utf8")));

  expect(names.toSorted()).toEqual([...generated.keys()].toSorted());
  expect(new Map(names.map((name, index) => [name, written[index]]))).toEqual(generated);
});
