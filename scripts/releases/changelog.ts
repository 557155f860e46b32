/** Moves the changes under `Unreleased` of a changelog in the form of Keep a Changelog to the section of a release. */

const HEADING = "## [Unreleased]\n";

/** Returns the changelog with the section `## [version] - day`. Throws if nothing is unreleased. */
export function releaseChanges(changelog: string, version: string, day: string): string {
  const [before, rest] = changelog.split(HEADING);
  const changes = rest?.split(/^## /m, 1)[0]?.trim();
  if (before === undefined || changes === undefined) throw new Error(`CHANGELOG.md has no ${HEADING.trim()}`);
  if (changes === "") throw new Error("CHANGELOG.md has no unreleased changes");
  return `${before}${HEADING}\n## [${version}] - ${day}\n${rest}`;
}
