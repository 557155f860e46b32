/**
 * Holds `schema/*.graphql` against the SDL of the last release, which is kept in `scripts/released-schema.graphql`, and names
 * every change that would break a partner's query. `--release` makes the present SDL the released one: part of a release.
 */
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { buildSchema, findBreakingChanges } from "graphql";
import { readSdl } from "../src/graphql/sdl.ts";

const RELEASED_SCHEMA_FILE = fileURLToPath(new URL("released-schema.graphql", import.meta.url));

/** The breaking changes from `released` to `present`, as sentences; empty: there are none. */
export function listBreakingChanges(released: string, current: string): string[] {
  const changes = findBreakingChanges(buildSchema(released), buildSchema(current));
  return changes.map(({ type, description }) => `${type}: ${description}`);
}

/** The same, from the last release to what is committed. */
export async function listBreakingChangesSinceRelease(): Promise<string[]> {
  return listBreakingChanges(await readFile(RELEASED_SCHEMA_FILE, "utf8"), readSdl());
}

if (import.meta.main) {
  if (process.argv.includes("--release")) await writeFile(RELEASED_SCHEMA_FILE, readSdl());
  const changes = await listBreakingChangesSinceRelease();
  for (const change of changes) process.stdout.write(`${change}\n`);
  process.exitCode = changes.length > 0 ? 1 : 0;
}
