/** axe-core on a page as it stands: WCAG 2.2 AA, and what its makers call best practice. */
import axe from "axe-core";
import type { Page } from "playwright-core";

const RULE_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** What a change of the colours alone can break. */
const COLOR_RULES = ["color-contrast", "link-in-text-block"];

interface AxeResults {
  violations: { id: string; help: string; nodes: { target: unknown[]; failureSummary?: string }[] }[];
}

/** What is wrong, a line for each place; empty: nothing. */
export async function findAccessibilityViolations(
  page: Page,
  { colorsAlone = false } = {},
): Promise<string[]> {
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
