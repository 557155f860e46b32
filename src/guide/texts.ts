/** The guide as text, for language models: `llms.txt`, and all pages for partners in one file. */
import type { Page } from "./pages.ts";
import { SAMPLE_BASE_URL } from "./placeholders.ts";
import { markdownPathOf } from "./targets.ts";

/** The format of https://llmstxt.org: a title, a summary and links to Markdown. */
export function renderLlmsTxt(pages: readonly Page[]): string {
  const [index] = pages;
  const groups = Map.groupBy(pages, ({ group }) => group);
  const lists = [...groups].map(([group, members]) => {
    const links = members.map(
      (page) => `- [${page.title}](${SAMPLE_BASE_URL}/guide/${markdownPathOf(page)}): ${page.description}`,
    );
    return `## ${group}\n\n${links.join("\n")}`;
  });
  const fullText = `All pages except those under Operate are in one file: [llms-full.txt](${SAMPLE_BASE_URL}/llms-full.txt).`;
  return [`# Waymark`, `> ${index?.description ?? ""}`, fullText, ...lists].join("\n\n") + "\n";
}

/** The pages for partners. Those for operators are linked in `llms.txt`. `markdownOf` returns Markdown with absolute URLs. */
export function renderLlmsFullTxt(pages: readonly Page[], markdownOf: (page: Page) => string): string {
  const partnerPages = pages.filter(({ path }) => !path.startsWith("operate/"));
  return partnerPages.map((page) => markdownOf(page).trim()).join("\n\n---\n\n");
}
