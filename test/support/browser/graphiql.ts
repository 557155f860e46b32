/** Opens GraphiQL, and reads its editors. */
import type { Locator, Page } from "playwright-core";
import { expect } from "vitest";
import type { SharedApp } from "../app/shared-app.ts";
import { openTab, type Tab } from "./tabs.ts";

export interface RecordingTab extends Tab {
  readonly operations: string[];
}

/** Opens a tab that records the operations that its pages send to GraphQL. */
export async function openRecordingTab(app: SharedApp): Promise<RecordingTab> {
  const tab = await openTab(app);
  const operations: string[] = [];
  tab.page.on("request", (request) => {
    if (request.url() === `${app.url}/graphql`)
      operations.push((JSON.parse(request.postData() ?? "{}") as { query: string }).query);
  });
  return { ...tab, operations };
}

/** Returns what the editors show: Monaco renders lines that are visible, with no-break spaces. */
async function readEditor(editor: Locator): Promise<string> {
  const lines = await editor.locator(".view-line").evaluateAll((elements) =>
    elements
      .map((element) => [element.getBoundingClientRect().top, element.textContent] as const)
      .toSorted(([a], [b]) => a - b)
      .map(([, text]) => text),
  );
  return lines.join("\n").replaceAll("\u00A0", " ").trim();
}

export const readQuery = (page: Page): Promise<string> => readEditor(page.locator(".graphiql-query-editor"));
/** The editor of headers follows that of variables. */
export const readVariables = (page: Page): Promise<string> =>
  readEditor(page.locator(".graphiql-editor-tool .graphiql-editor").first());

/** Waits until the page has loaded the schema, which it always does. */
export async function openGraphiql({ page, operations }: RecordingTab, url: string): Promise<void> {
  const before = operations.length;
  await page.goto(url);
  await expect.poll(() => operations.length).toBeGreaterThan(before);
  await expect.poll(() => readQuery(page)).not.toBe("");
}

export const graphiqlUrl = (parameters: Record<string, string>): string =>
  `/graphiql?${new URLSearchParams(parameters).toString()}`;
