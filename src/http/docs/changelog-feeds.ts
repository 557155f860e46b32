/** The change feeds: a JSON Feed (version 1.1) and an Atom feed (RFC 4287) with the same entries. */
import { readFileSync } from "node:fs";
import { changelogEntries, type ChangelogEntry, type Deprecation } from "../../deprecations/api.ts";
import { escapeHtml } from "../../platform/escape-html.ts";

type PageUrl = (path: string) => string;

const TITLE = "Changes of the Waymark API";

export function readChangelog(deprecations: readonly Deprecation[]): ChangelogEntry[] {
  const file = new URL("../../../CHANGELOG.md", import.meta.url);
  return changelogEntries(readFileSync(file, "utf8"), deprecations);
}

export function jsonFeed(entries: readonly ChangelogEntry[], pageUrl: PageUrl): object {
  return {
    version: "https://jsonfeed.org/version/1.1",
    title: TITLE,
    home_page_url: pageUrl("/guide/versioning"),
    feed_url: pageUrl("/changelog.json"),
    items: entries.map(({ id, kind, title, day, text }) => ({
      id,
      url: pageUrl("/guide/versioning"),
      title,
      content_text: text,
      date_published: toTime(day),
      tags: [kind],
    })),
  };
}

export function atomFeed(entries: readonly ChangelogEntry[], pageUrl: PageUrl): string {
  const feedUrl = escapeHtml(pageUrl("/changelog.atom"));
  const page = escapeHtml(pageUrl("/guide/versioning"));
  const items = entries.map(
    ({ id, kind, title, day, text }) => `<entry>
<id>${feedUrl}#${escapeHtml(id)}</id>
<title>${escapeHtml(title)}</title>
<updated>${toTime(day)}</updated>
<category term="${kind}"/>
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
