/** Checks a page with axe-core: WCAG 2.2 AA and axe's best practices. */
import axe from "axe-core";
import type { Page } from "playwright-core";

const RULE_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** The rules that a change of colours can break. */
const COLOR_RULES = ["color-contrast", "link-in-text-block"];

interface AxeResults {
  violations: { id: string; help: string; nodes: { target: unknown[]; failureSummary?: string }[] }[];
}

/** Returns one line per violation and element. */
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
