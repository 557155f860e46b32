/** Checks every page of the console with axe, and for console errors. `test/long/browser` checks each state of it, also for others. */
import { describe, expect, it } from "vitest";
import { screenGuides } from "../../src/console/app/guide/guide-pages.ts";
import { findPageProblems } from "../support/browser/axe.ts";
import { openAs, routePaths, visits } from "../support/browser/console-pages.ts";
import { startConsoleFixture } from "../support/browser/shared-console.ts";
import { openTab } from "../support/browser/tabs.ts";

const fixture = await startConsoleFixture();

it("covers every route of the console", async () => {
  const { page } = await openTab(fixture.app);
  await page.goto("/sign-in");
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  const paths = await page.evaluate<string[]>("Object.keys(__TSR_ROUTER__.routesByPath)");
  const expected = [...new Set(paths.map((path) => path.replace(/(?<=.)\/$/, "")))].toSorted();
  expect(routePaths).toEqual(expected);
  // Each has a page of the guide, which the help menu links.
  expect(Object.keys(screenGuides).toSorted()).toEqual(expected);
});

describe("has no axe violations, horizontal scroll or page errors", () => {
  // evidence: console-pages-accessible
  it("each page, as owner", async () => {
    const { page, pageErrors } = await openAs("owner", fixture);
    const problems: string[] = [];
    for (const { heading, urlOf } of visits.filter((each) => each.visitor === "owner" && each.isFirst)) {
      const url = urlOf(fixture);
      // Loading the app takes longer.
      if (page.url() === "about:blank") await page.goto(url);
      else await page.evaluate(`__TSR_ROUTER__.history.push(${JSON.stringify(url)})`);
      await page.getByRole("heading", { level: 1, name: heading, exact: true }).waitFor();
      problems.push(...(await findPageProblems(page)).map((problem) => `${url}: ${problem}`));
      if (!(await page.getByRole("button", { name: "Sign out" }).isVisible()))
        problems.push(`${url}: "Sign out" is not visible`);
    }
    expect([...problems, ...pageErrors]).toEqual([]);
  });
});
