/** The search index of the guide: one document for each section of a page. */
import MiniSearch from "minisearch";
import type { Page } from "./pages.ts";

/** Options that the browser needs to load the index. `search.mjs` has the same fields. */
const OPTIONS = {
  fields: ["title", "page", "text"],
  storeFields: ["title", "page", "url", "excerpt"],
};
const EXCERPT_LENGTH = 160;

export function createSearchIndex(pages: readonly Page[]): string {
  const index = new MiniSearch(OPTIONS);
  for (const page of pages)
    for (const { id, title, text } of page.sections) {
      const url = page.path + (id && `#${id}`);
      index.add({ id: url, url, title, page: page.title, text, excerpt: text.slice(0, EXCERPT_LENGTH) });
    }
  return JSON.stringify(index);
}
