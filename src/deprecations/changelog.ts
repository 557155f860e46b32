/** The dated entries of the change feeds: the releases of CHANGELOG.md, and the deprecations. */
import { describeDeprecation, nameOf, type Deprecation } from "./deprecation.ts";

export interface ChangelogEntry {
  /** Unique and stable, such as `release-1.0.0`. */
  readonly id: string;
  readonly kind: "release" | "deprecation";
  readonly title: string;
  /** Such as `2026-11-23`. */
  readonly day: string;
  /** Markdown. */
  readonly text: string;
}

/** Returns the entries, newest first. Unreleased changes have no date, so they are not included. */
export function changelogEntries(changelog: string, deprecations: readonly Deprecation[]): ChangelogEntry[] {
  const releases = changelog.split(/^## /m).flatMap((section): ChangelogEntry[] => {
    const [, version, day] = /^\[([^\]]+)\] - (\d{4}-\d\d-\d\d)\n/.exec(section) ?? [];
    if (version === undefined || day === undefined) return [];
    const text = section.slice(section.indexOf("\n")).trim();
    return [{ id: `release-${version}`, kind: "release", title: `Waymark ${version}`, day, text }];
  });
  const announcements = deprecations.map((deprecation): ChangelogEntry => ({
    id: `deprecation-${deprecation.id}`,
    kind: "deprecation",
    title: `Deprecated: ${nameOf(deprecation)}`,
    day: deprecation.since,
    text: describeDeprecation(deprecation),
  }));
  return [...announcements, ...releases].toSorted((left, right) => right.day.localeCompare(left.day));
}
