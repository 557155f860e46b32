/** The change feeds: a JSON Feed (version 1.1) and an Atom feed (RFC 4287) with the same entries. */
import { readFileSync } from "node:fs";
import { escapeHtml } from "../../platform/escape-html.ts";

type PageUrl = (path: string) => string;

const TITLE = "Changes of the Waymark API";

interface ChangelogEntry {
  /** Unique and stable, such as `release-1.0.0`. */
  readonly id: string;
  readonly title: string;
  /** Such as `2026-11-23`. */
  readonly day: string;
  /** Markdown. */
  readonly text: string;
}

/** Returns the releases, newest first. Unreleased changes have no date, so they are not included. */
export function readChangelog(): ChangelogEntry[] {
  const changelog = readFileSync(new URL("../../../CHANGELOG.md", import.meta.url), "utf8");
  const releases = changelog.split(/^## /m).flatMap((section): ChangelogEntry[] => {
    const [, version, day] = /^\[([^\]]+)\] - (\d{4}-\d\d-\d\d)\n/.exec(section) ?? [];
    if (version === undefined || day === undefined) return [];
    const text = section.slice(section.indexOf("\n")).trim();
    return [{ id: `release-${version}`, title: `Waymark ${version}`, day, text }];
  });
  return releases.toSorted((left, right) => right.day.localeCompare(left.day));
}

export function jsonFeed(entries: readonly ChangelogEntry[], pageUrl: PageUrl): object {
  return {
    version: "https://jsonfeed.org/version/1.1",
    title: TITLE,
    home_page_url: pageUrl("/guide/versioning"),
    feed_url: pageUrl("/changelog.json"),
    items: entries.map(({ id, title, day, text }) => ({
      id,
      url: pageUrl("/guide/versioning"),
      title,
      content_text: text,
      date_published: toTime(day),
      tags: ["release"],
    })),
  };
}

export function atomFeed(entries: readonly ChangelogEntry[], pageUrl: PageUrl): string {
  const feedUrl = escapeHtml(pageUrl("/changelog.atom"));
  const page = escapeHtml(pageUrl("/guide/versioning"));
  const items = entries.map(
    ({ id, title, day, text }) => `<entry>
<id>${feedUrl}#${escapeHtml(id)}</id>
<title>${escapeHtml(title)}</title>
<updated>${toTime(day)}</updated>
<category term="release"/>
<link href="${page}"/>
<content type="text">${escapeHtml(text)}</content>
</entry>`,
  );
  return `<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom">
<id>${feedUrl}</id>
<title>${TITLE}</title>
<updated>${toTime(entries[0]?.day ?? "1970-01-01")}</updated>
<author><name>Waymark</name></author>
<link rel="self" href="${feedUrl}"/>
<link href="${page}"/>
${items.join("\n")}
</feed>
`;
}

function toTime(day: string): string {
  return `${day}T00:00:00Z`;
}
