/** Texts run the client by its URL, and `npx waymark` only in the repository, so npm never looks up these names in a registry. */
import { globSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { isInstalled } from "../../src/sdk/installed.ts";
import { read } from "../support/docs/facts.ts";

/** Texts for readers in the folder of the repository. There `npx waymark` runs the package of that folder. */
const IN_REPOSITORY = [
  "README.md",
  "CONTRIBUTING.md",
  "docs/decisions/",
  "src/cli/",
  "src/config/banner.ts",
  "src/dev/",
];

describe("npx", () => {
  const texts = globSync(
    [
      "*.md",
      "docs/**/*.md",
      "clients/**/*.{md,py,sh,ts,tsx}",
      "schema/*.graphql",
      "src/**/*.{ts,tsx,mjs,json,md}",
    ],
    { exclude: (path) => isInstalled(path) },
  ).map((file) => ({ file, text: read(file) }));

  it("runs the client by its URL, so that it never asks the registry", () => {
    expect(texts.length).toBeGreaterThan(500);
    const named = texts.filter(({ text }) => /npx (?:-\S+ )*(?:@waymark\/|waymark-client)/.test(text));
    expect(named.map(({ file }) => file)).toEqual([]);
  });

  it("and npm and pip install a client by the URL of its version", () => {
    const unversioned = /(?:npm install|npx|pip install)\b.*\/sdk\/waymark(?:-client\.tgz|_client\.whl)/;
    const named = texts.filter(({ text }) => unversioned.test(text));
    expect(named.map(({ file }) => file)).toEqual([]);
  });

  it("runs waymark only in the folder of the repository", () => {
    const commands = texts
      .filter(({ file }) => !IN_REPOSITORY.some((place) => file.startsWith(place)))
      .flatMap(({ file, text }) => text.split("\n").map((line) => `${file}: ${line}`))
      .filter((line) => /npx (?:-\S+ )*waymark\b/.test(line));
    expect(commands.length).toBeGreaterThan(2);
    expect(commands.filter((line) => !/in the folder of the repository|Don't run/.test(line))).toEqual([]);
  });
});
