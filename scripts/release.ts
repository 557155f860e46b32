/**
 * `npm run release -- 1.1.0` prepares a release: sets the version of the package, gives the changes in CHANGELOG.md a dated
 * section, and keeps what partners rely on: documents in `docs/releases/1.1.0`, and the packages of the clients in
 * `clients/released/1.1.0`. It commits and tags nothing.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { buildClients, keepReleasedClients } from "../src/sdk/released.ts";
import { releaseChanges } from "./releases/changelog.ts";
import {
  compareVersions,
  currentSnapshot,
  listBreakingChanges,
  listReleases,
  readSnapshot,
  writeSnapshot,
} from "./releases/snapshots.ts";
import { generateClients, setVersion } from "./releases/version.ts";

const ROOT = new URL("../", import.meta.url);

function edit(name: string, change: (text: string) => string): void {
  const file = new URL(name, ROOT);
  writeFileSync(file, change(readFileSync(file, "utf8")));
}

/** Returns why `version` cannot be released; an empty list if it can. */
function problemsOf(version: string): string[] {
  if (!/^\d+\.\d+\.\d+(-(alpha|beta|rc)(\.\d+)?)?$/.test(version))
    return [`"${version}" is not a version such as 1.1.0 or 1.1.0-rc.1`];
  const last = listReleases().at(-1);
  if (last === undefined) return [];
  if (compareVersions(version, last) <= 0) return [`${version} is not newer than the last release, ${last}`];
  return listBreakingChanges(readSnapshot(last), currentSnapshot());
}

const version = process.argv[2] ?? "";
const problems = problemsOf(version);
if (problems.length > 0) {
  process.stderr.write(`${problems.join("\n")}\n`);
  process.exitCode = 1;
} else {
  const day = new Date().toISOString().slice(0, 10);
  edit("CHANGELOG.md", (text) => releaseChanges(text, version, day));
  setVersion(version);
  generateClients();
  const snapshot = currentSnapshot();
  snapshot["openapi.json"].info.version = version;
  writeSnapshot(version, snapshot);
  await keepReleasedClients(version, await buildClients(version));
  process.stdout.write(
    `Review the changes, then:\n  npm run test:all\n  git add -A && git commit -m "release: ${version}"\n  git tag -a v${version} -m "Waymark ${version}"\n`,
  );
}
