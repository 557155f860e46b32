/** Releases: versions that agree, snapshots, and the comparison with the last one. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { releaseChanges } from "../../scripts/releases/changelog.ts";
import {
  compareVersions,
  currentSnapshot,
  listBreakingChanges,
  listReleases,
  readSnapshot,
  writeSnapshot,
} from "../../scripts/releases/snapshots.ts";

const read = (name: string): string => readFileSync(new URL(`../../${name}`, import.meta.url), "utf8");
const manifest = JSON.parse(read("package.json")) as { version: string };
const changelog = read("CHANGELOG.md");

describe("the version", () => {
  it("is the same in package.json, its lock file and OpenAPI, and not older than the last release", () => {
    const lock = JSON.parse(read("package-lock.json")) as {
      version: string;
      packages: Record<string, { version: string }>;
    };
    const current = currentSnapshot();
    expect({
      lock: lock.version,
      rootOfLock: lock.packages[""]?.version,
      openApi: current["openapi.json"].info.version,
    }).toEqual({
      lock: manifest.version,
      rootOfLock: manifest.version,
      openApi: manifest.version,
    });
    const last = listReleases().at(-1) ?? "";
    expect(compareVersions(manifest.version, last)).toBeGreaterThanOrEqual(0);
    const [, lastInChangelog] = /^## \[(\d[^\]]*)\] - \d{4}-\d\d-\d\d$/m.exec(changelog) ?? [];
    expect(lastInChangelog).toBe(last);
  });

  it("of each snapshot is the one of its folder, with a dated section in CHANGELOG.md", () => {
    for (const version of listReleases()) {
      const snapshot = readSnapshot(version);
      expect(snapshot["openapi.json"].info.version).toBe(version);
      expect(changelog).toMatch(new RegExp(`^## \\[${version}\\] - \\d{4}-\\d\\d-\\d\\d$`, "m"));
    }
  });

  it("of each tag has a snapshot", () => {
    const tags = execFileSync("git", ["tag", "--list", "v*"], { encoding: "utf8" })
      .split("\n")
      .filter(Boolean);
    const versions = new Set(listReleases().map((version) => `v${version}`));
    expect(tags.filter((tag) => !versions.has(tag))).toEqual([]);
  });

  it("of a pre-release comes before its release", () => {
    const versions = ["1.0.0", "1.0.0-rc.2", "1.10.0", "1.0.0-rc", "1.9.1"];
    expect(versions.toSorted(compareVersions)).toEqual([
      "1.0.0-rc",
      "1.0.0-rc.2",
      "1.0.0",
      "1.9.1",
      "1.10.0",
    ]);
  });
});

describe("a release", () => {
  it("moves the unreleased changes to a dated section", () => {
    const text =
      "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- New.\n\n## [1.0.0] - 2026-01-02\n\n- Old.\n";
    expect(releaseChanges(text, "1.1.0", "2026-03-04")).toBe(
      "# Changelog\n\n## [Unreleased]\n\n## [1.1.0] - 2026-03-04\n\n### Added\n\n- New.\n\n## [1.0.0] - 2026-01-02\n\n- Old.\n",
    );
  });

  it("is refused without unreleased changes", () => {
    expect(() =>
      releaseChanges("## [Unreleased]\n\n## [1.0.0] - 2026-01-02\n", "1.1.0", "2026-03-04"),
    ).toThrow("no unreleased changes");
  });

  it("never changes a snapshot", () => {
    const [version = ""] = listReleases();
    expect(() => writeSnapshot(version, currentSnapshot())).toThrow("a release never changes");
  });

  // evidence: openapi-backward-compatible, sdl-backward-compatible
  it("is followed by no breaking change in OpenAPI or the SDL", () => {
    const last = listReleases().at(-1) ?? "";
    expect(listBreakingChanges(readSnapshot(last), currentSnapshot())).toEqual([]);
  });
});
