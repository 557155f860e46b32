/** Checks every page of the console in all its states with axe, on a phone and a desktop, in light and dark. */
import { beforeAll, describe, expect, it, vi } from "vitest";
import { emulateScheme, findPageProblems } from "../../support/browser/axe.ts";
import type { ConsoleFixture } from "../../support/browser/console.fixture.ts";
import { openAs, visits } from "../../support/browser/console-pages.ts";
import { startConsoleFixture } from "../../support/browser/shared-console.ts";
import { BROWSER_START_TIMEOUT_MS, BROWSER_TIMEOUT_MS, DESKTOP, PHONE } from "../../support/browser/tabs.ts";

vi.setConfig({ testTimeout: BROWSER_TIMEOUT_MS, hookTimeout: BROWSER_START_TIMEOUT_MS });

let fixture: ConsoleFixture;
beforeAll(async () => {
  fixture = await startConsoleFixture();
});

describe("has no axe violations, horizontal scroll or page errors, in light and dark at 360 and 1280 px", () => {
  it.each(visits)("$path ($heading), as $visitor", async ({ visitor, heading, urlOf }) => {
    const { page, pageErrors } = await openAs(visitor, fixture);
    await page.goto(urlOf(fixture));
    await page.getByRole("heading", { level: 1, name: heading, exact: true }).waitFor();
    const problems: string[] = [];
    for (const colorScheme of ["light", "dark"] as const) {
      await emulateScheme(page, colorScheme);
      for (const viewport of [DESKTOP, PHONE]) {
        await page.setViewportSize(viewport);
        const found = await findPageProblems(page, { colorsAlone: colorScheme === "dark" });
        problems.push(...found.map((problem) => `${colorScheme}, ${viewport.width} px: ${problem}`));
      }
    }
    expect([...problems, ...pageErrors]).toEqual([]);
  });
});
