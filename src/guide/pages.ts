/** Reads the pages of the guide from `docs/`. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Token } from "markdown-it";
import { invariant } from "../platform/errors.ts";
import { pathOfFile, sections } from "./contents.ts";
import { parseMarkdown, plainText } from "./markdown.ts";

export interface PageSection {
  /** Id of the heading; "" for the title. */
  id: string;
  /** 1, 2 or 3. */
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
}

/** Returns the pages in reading order. Throws if one is missing or has no title and first paragraph. */
export async function readPages(docsDir: string): Promise<Page[]> {
  const entries = sections.flatMap(({ title, files }) => files.map((file) => ({ group: title, file })));
  return await Promise.all(
    entries.map(async ({ group, file }) => toPage(group, file, await readFile(join(docsDir, file), "utf8"))),
  );
}

function toPage(group: string, file: string, markdown: string): Page {
  const pageSections = readSections(markdown);
  const [first] = pageSections;
  invariant(first?.level === 1, `docs/${file} starts with a title`);
  const description = first.text.split("\n")[0] ?? "";
  invariant(description, `docs/${file} has a paragraph below its title`);
  const path = pathOfFile(file);
  return { file, path, group, title: first.title, description, markdown, sections: pageSections };
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
