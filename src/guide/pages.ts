/** Reads the pages of the guide from `docs/`. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Token } from "markdown-it";
import { invariant } from "../core/errors.ts";
import { pathOfFile, sections } from "./contents.ts";
import { parseMarkdown, plainText, renderMarkdown, type TargetResolver } from "./markdown.ts";

export interface PageSection {
  /** Id of the heading; "" for the title. */
  id: string;
  /** 1 to 4. */
  level: number;
  title: string;
  /** Texts, tables and code without marks, for search. */
  text: string;
}

export interface Page {
  /** Relative to `docs/`. */
  file: string;
  /** Below `/guide/`, without extension; "" for the first page. */
  path: string;
  group: string;
  title: string;
  /** The first paragraph. */
  description: string;
  markdown: string;
  sections: PageSection[];
  /** Returns the HTML of the page's content. Throws if a link is broken. */
  render: (resolver: TargetResolver) => string;
}

/** Returns the pages in `docsDir` in reading order. Throws if one is missing or has no title and first paragraph. */
export async function readPages(docsDir: string): Promise<Page[]> {
  const files = sections.flatMap((section) => section.files);
  return await Promise.all(
    files.map(async (file) => markdownPage(file, await readFile(join(docsDir, file), "utf8"))),
  );
}

/** Returns `pages` in the order of the contents. Throws if one is missing. */
export function inReadingOrder(pages: readonly Page[]): Page[] {
  const files = sections.flatMap((section) => [...section.files, ...(section.generated ?? [])]);
  return files.map((file) => {
    const page = pages.find((each) => each.file === file);
    invariant(page, `the guide has the page ${file}`);
    return page;
  });
}

/** Returns the title of the group that lists `file` in the contents. */
export function groupOf(file: string): string {
  const section = sections.find(({ files, generated = [] }) => [...files, ...generated].includes(file));
  invariant(section, `the contents list ${file}`);
  return section.title;
}

/** `file` is relative to `docs/`; it need not exist. */
export function markdownPage(file: string, markdown: string): Page {
  const pageSections = readSections(markdown);
  const [first] = pageSections;
  invariant(first?.level === 1, `docs/${file} starts with a title`);
  const description = first.text.split("\n")[0] ?? "";
  invariant(description, `docs/${file} has a paragraph below its title`);
  return {
    file,
    path: pathOfFile(file),
    group: groupOf(file),
    title: first.title,
    description,
    markdown,
    sections: pageSections,
    render: (resolver) => renderMarkdown(markdown, resolver),
  };
}

function readSections(markdown: string): PageSection[] {
  const found: PageSection[] = [];
  let heading: Token | null = null;
  for (const token of parseMarkdown(markdown)) {
    if (token.type === "heading_open") heading = token;
    else if (token.type === "inline" && heading) {
      const id = String(heading.attrGet("id") ?? "");
      found.push({ id, level: Number(heading.tag.slice(1)), title: plainText(token), text: "" });
      heading = null;
    } else if (token.type === "inline" || token.type === "fence") {
      const last = found.at(-1);
      const text = token.type === "fence" ? token.content.trim() : plainText(token);
      if (last) last.text += (last.text && "\n") + text;
    }
  }
  return found;
}
