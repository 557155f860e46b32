/** What a browser requests before a page of the console shows its data. The rest is loaded later. */
import { expect, it } from "vitest";
import { startConsoleFixture } from "../support/browser/shared-console.ts";
import { expectVisible, openTab } from "../support/browser/tabs.ts";

const MAX_REQUESTS = 15;

const fixture = await startConsoleFixture();

it.each([
  ["/sign-in", "textbox", "Password"],
  ["/", "list", "Jobs of today"],
  ["/jobs", "table", "Jobs"],
] as const)("%s makes at most 15 requests before its data", async (url, role, name) => {
  const isSignIn = url === "/sign-in";
  const { page } = await openTab(fixture.app, isSignIn ? {} : { user: fixture.owner });
  const requested = new Set<string>();
  page.on("request", (request) => requested.add(`${request.url()} ${request.postData() ?? ""}`));
  const isAnswered = Promise.withResolvers<void>();
  await page.route("**/graphql", async (route) => {
    await isAnswered.promise;
    await route.continue();
  });
  await page.goto(url);
  // Shown by the code of the page, which has then sent its requests.
  if (!isSignIn) await expectVisible(page.getByRole("status").filter({ hasText: "Loading" }));
  const before = [...requested];
  isAnswered.resolve();
  await expectVisible(page.getByRole(role, { name, exact: true }));

  expect(before.length).toBeGreaterThan(5);
  expect(before.length).toBeLessThanOrEqual(MAX_REQUESTS);
});

it("/jobs has the help menu after the data", async () => {
  const { page } = await openTab(fixture.app, { user: fixture.owner });
  await page.goto("/jobs");
  await expectVisible(page.getByRole("button", { name: "Help" }).first());
});

it.each(["clicked", "held down"])(
  "a menu whose button is %s before it is loaded opens then",
  async (press) => {
    const { page } = await openTab(fixture.app, { user: fixture.owner });
    const isAnswered = Promise.withResolvers<void>();
    await page.route(/export\.menu-/, async (route) => {
      await isAnswered.promise;
      await route.continue();
    });
    await page.goto("/jobs");
    await page.getByRole("button", { name: "Export" }).hover();
    await page.mouse.down();
    if (press === "clicked") await page.mouse.up();
    isAnswered.resolve();
    await expectVisible(page.getByRole("menuitem", { name: "Excel" }));
    await page.mouse.up();
    await expectVisible(page.getByRole("menuitem", { name: "Excel" }));
  },
);
