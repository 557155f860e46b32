/**
 * `npx node scripts/set-version.ts 1.1.0-alpha` sets the version that the sources have until the next release. The clients need one
 * when they change after a release, because the packages of a release never change.
 */
import { compareVersions, listReleases } from "./releases/snapshots.ts";
import { generateClients, setVersion } from "./releases/version.ts";

const version = process.argv[2] ?? "";
const last = listReleases().at(-1) ?? "";
if (compareVersions(version, last) <= 0) {
  process.stderr.write(`"${version}" is not newer than the last release, ${last}\n`);
  process.exitCode = 1;
} else {
  setVersion(version);
  generateClients();
}
