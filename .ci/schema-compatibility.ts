/**
 * Holds `schema/*.graphql` against the SDL of the last release, which is kept in `.ci/released-schema.graphql`, and names
 * every change that would break a partner's query. `--release` makes the present SDL the released one: part of a release.
 */
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { buildSchema, findBreakingChanges } from "graphql";
import { readSdl } from "../src/graphql/sdl.ts";

const RELEASED = fileURLToPath(new URL("released-schema.graphql", import.meta.url));

/** The breaking changes from `released` to `present`, as sentences; empty: there are none. */
export function breakingChanges(released: string, present: string): string[] {
  const changes = findBreakingChanges(buildSchema(released), buildSchema(present));
  return changes.map(({ type, description }) => `${type}: ${description}`);
}

/** The same, from the last release to what is committed. */
export async function breakingChangesSinceRelease(): Promise<string[]> {
  return breakingChanges(await readFile(RELEASED, "utf8"), readSdl());
}

if (import.meta.main) {
  if (process.argv.includes("--release")) await writeFile(RELEASED, readSdl());
  const changes = await breakingChangesSinceRelease();
  for (const change of changes) process.stdout.write(`${change}\n`);
  process.exitCode = changes.length > 0 ? 1 : 0;
}
