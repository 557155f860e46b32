/** Compares the OpenAPI document and the SDL with those of the last release, and prints every breaking change. */
import { currentSnapshot, listBreakingChanges, listReleases, readSnapshot } from "./releases/snapshots.ts";

const version = listReleases().at(-1);
if (version === undefined) throw new Error("docs/releases has no release to compare with");
const changes = listBreakingChanges(readSnapshot(version), currentSnapshot());
for (const change of changes) process.stdout.write(`${change}\n`);
if (changes.length > 0) {
  process.stdout.write(
    `Partners of release ${version} rely on these. Keep them, and announce their removal as docs/guide/versioning.md says.\n`,
  );
  process.exitCode = 1;
}
