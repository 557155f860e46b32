/**
 * Compares `schema/*.graphql` with the SDL of the last release, `scripts/released-schema.graphql`, and prints every breaking
 * change. `--release` replaces the released SDL by the current one, as part of a release.
 */
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { buildSchema, findBreakingChanges } from "graphql";
import { readSdl } from "../src/graphql/sdl.ts";

const RELEASED_SCHEMA_FILE = fileURLToPath(new URL("released-schema.graphql", import.meta.url));

/** Returns the breaking changes from `released` to `current`, as sentences. */
export function listBreakingChanges(released: string, current: string): string[] {
  const changes = findBreakingChanges(buildSchema(released), buildSchema(current));
  return changes.map(({ type, description }) => `${type}: ${description}`);
}

/** Returns the breaking changes from the last release to the SDL in the working tree. */
export async function listBreakingChangesSinceRelease(): Promise<string[]> {
  return listBreakingChanges(await readFile(RELEASED_SCHEMA_FILE, "utf8"), readSdl());
}

if (import.meta.main) {
  if (process.argv.includes("--release")) await writeFile(RELEASED_SCHEMA_FILE, readSdl());
  const changes = await listBreakingChangesSinceRelease();
  for (const change of changes) process.stdout.write(`${change}\n`);
  process.exitCode = changes.length > 0 ? 1 : 0;
}
