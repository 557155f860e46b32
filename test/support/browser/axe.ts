/** Checks a page with axe-core: WCAG 2.2 AA and axe's best practices. */
import axe from "axe-core";
import type { Page } from "playwright-core";
import { expect } from "vitest";

const RULE_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** The rules that a change of colours can break. */
const COLOR_RULES = ["color-contrast", "link-in-text-block"];

/** The elements that a page still loads or animates. */
const UNSETTLED = `[
  ...[...document.querySelectorAll("[aria-busy=true]")].map(({ outerHTML }) => outerHTML.slice(0, 200)),
  ...document.getAnimations().map(({ effect }) => "animates " + effect?.target?.outerHTML.slice(0, 200)),
]`;

interface AxeResults {
  violations: { id: string; help: string; nodes: { target: unknown[]; failureSummary?: string }[] }[];
}

/** Waits until the page has settled, and returns axe's violations, one per element, and whether it scrolls horizontally. */
export async function findPageProblems(page: Page, { colorsAlone = false } = {}): Promise<string[]> {
  await expect.poll(() => page.evaluate<string[]>(UNSETTLED), { message: page.url() }).toEqual([]);
  // Until new styles and a new width apply.
  await page.evaluate(
    "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))",
  );
  const violations = await findAccessibilityViolations(page, colorsAlone);
  const overflow = await page.evaluate<number>("document.documentElement.scrollWidth - window.innerWidth");
  return overflow > 0 ? [...violations, `is ${overflow} px wider than the screen`] : violations;
}

/** Changes the colour scheme of a page of the console. */
export async function emulateScheme(page: Page, colorScheme: "light" | "dark"): Promise<void> {
  await page.emulateMedia({ colorScheme });
  await page.locator(`html[data-mantine-color-scheme=${colorScheme}]`).waitFor();
}

async function findAccessibilityViolations(page: Page, colorsAlone: boolean): Promise<string[]> {
  const runOnly = colorsAlone ? { type: "rule", values: COLOR_RULES } : { type: "tag", values: RULE_TAGS };
  if (!(await page.evaluate<boolean>("'axe' in globalThis"))) await page.evaluate(axe.source);
  const { violations } = await page.evaluate<AxeResults>(
    `axe.run(document, { resultTypes: ["violations"], runOnly: ${JSON.stringify(runOnly)} })`,
  );
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(
      ({ target, failureSummary }) => `${id}: ${help} at ${target.join(" ")} (${failureSummary ?? ""})`,
    ),
  );
}
