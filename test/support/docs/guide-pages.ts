/** Reads the pages of `docs/` and the code blocks in them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathOfFile, sections } from "../../../src/guide/contents.ts";
import { readPages } from "../../../src/guide/pages.ts";

const docsDir = join(import.meta.dirname, "../../../docs");

export interface CodeBlock {
  language: string;
  /** What follows the language: `response`, `no-run` or nothing. */
  note: string;
  text: string;
}

/** Paths relative to `docs/` of every page of the guide. */
export const guidePages: readonly string[] = sections.flatMap(({ files }) => files);

/** Paths below `/guide/` of every page, including those that the build generates. */
export const guidePaths: readonly string[] = sections.flatMap(({ files, generated = [] }) =>
  [...files, ...generated].map(pathOfFile),
);

/** `path`: relative to `docs/`. */
export function readPage(path: string): string {
  return readFileSync(join(docsDir, path), "utf8");
}

/**
 * `target`: a path below `/guide/` with an optional anchor, such as `errors#goneexception-410`. Returns the heading that it
 * opens, or null if the guide has no such page or anchor.
 */
export async function headingInGuide(target: string): Promise<string | null> {
  const [path, id] = target.split("#");
  const page = (await readPages(docsDir)).find((candidate) => candidate.path === path);
  if (id === undefined) return page?.title ?? null;
  return page?.sections.find((section) => section.id === id)?.title ?? null;
}

/** Blocks in lists are indented; their text is not. */
export function codeBlocks(markdown: string): CodeBlock[] {
  const fences = markdown.matchAll(/^( *)```(\w+)(?: ([\w-]+))?\n([^]*?)^\1```$/gm);
  return [...fences].map(([, indent = "", language = "", note = "", text = ""]) => ({
    language,
    note,
    text: text.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
  }));
}

/** Returns the cells of the rows below the table header that begins with `head`, without backticks. */
export function tableRows(markdown: string, head: string): string[][] {
  const start = markdown.indexOf(`\n| ${head} |`);
  const [, , ...rows] = (markdown.slice(start + 1).split(/\n(?!\|)/, 1)[0] ?? "").split("\n");
  return rows.map((row) =>
    row
      .slice(1, -1)
      .split("|")
      .map((cell) => cell.trim().replaceAll("`", "")),
  );
}

/** Returns the texts of the fenced blocks of a language, in order. */
export function blocksIn(page: string, language: string): string[] {
  return codeBlocks(page)
    .filter((block) => block.language === language)
    .map(({ text }) => text);
}

/** Returns the only block of a language for which `fits` is true. Throws if there is another number of them. */
export function onlyBlock(page: string, language: string, fits: (text: string) => boolean): string {
  const [block, ...others] = blocksIn(page, language).filter(fits);
  if (block === undefined || others.length > 0) throw new Error(`Not exactly one such ${language} block`);
  return block;
}

/** Returns the rows of the test vector of `guide/webhooks/verify.md` by name, such as `webhook-id`. */
export function testVectorOf(page: string): Record<string, string | undefined> {
  const rows = page.matchAll(/^\| `?(secret|webhook-\w+|body)`? \| `(.*)` \|$/gm);
  return Object.fromEntries([...rows].map(([, name, value]) => [name, value]));
}
