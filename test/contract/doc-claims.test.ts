/** Compares statements of the documentation and of user-visible texts with the code. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { toConfig } from "../../src/config/config.ts";
import { readEnv } from "../../src/config/env.ts";

const root = join(import.meta.dirname, "../..");
const read = (path: string): string => readFileSync(join(root, path), "utf8");

const settingsPage = read("docs/operate/settings.md");

describe(".env.example", () => {
  const set = [...read(".env.example").matchAll(/^([A-Z][A-Z0-9_]*)=(.+)$/gm)];
  const values = Object.fromEntries(set.map(([, name = "", value = ""]) => [name, value]));

  it("sets the default values", () => {
    expect(Object.keys(values).length).toBeGreaterThan(10);
    expect(toConfig(readEnv(values))).toEqual(toConfig(readEnv({})));
  });

  it("has the defaults of the page on settings", () => {
    const rows = [...settingsPage.matchAll(/^\| `([A-Z_]+)` \| `?([^|`]+?)`? \|/gm)];
    const written = rows.filter(([, name = ""]) => name in values).map(([, name, value]) => [name, value]);
    expect(written.length).toBeGreaterThan(8);
    expect(written).toEqual(written.map(([name = ""]) => [name, values[name]]));
  });
});

it("CONTRIBUTING.md has every script of package.json that no other script runs", () => {
  const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
  const text = read("CONTRIBUTING.md");
  const named = (name: string): boolean =>
    text.includes(`\`npm run ${name}\``) || text.includes(`\`npm ${name}\``);
  const isPart = (name: string): boolean =>
    Object.values(scripts).join(" && ").split(" && ").includes(`npm run ${name}`);
  expect(Object.keys(scripts).filter((name) => !named(name) && !isPart(name))).toEqual([]);
});
