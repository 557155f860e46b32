/** Empty states and password fields. */
import { describe, expect, it } from "vitest";
import { createTestUser } from "../../support/accounts/session-client.ts";
import { createAgent } from "../../support/browser/console.fixture.ts";
import { startConsole } from "../../support/browser/shared-console.ts";
import { expectVisible, openTab } from "../../support/browser/tabs.ts";
import { headingInGuide } from "../../support/docs/guide-pages.ts";

const app = await startConsole();
const { user: member } = await createAgent(app, { role: "dispatcher", jobs: [{}] });

it("a new organisation sees on each page what will appear there and what to do next", async () => {
  const { id } = await app.organizations.create({ name: "New Couriers", type: "contractor" });
  const user = await createTestUser(app, { organizationId: id, role: "owner" });
  const { page } = await openTab(app, { user });
  await page.goto("/members");
  await expectVisible(page.getByRole("heading", { level: 1, name: "Members" }));
  for (const [path, title, guide, action] of [
    ["/", "No jobs yet", "Quickstart", "Create an API key"],
    ["/jobs", "No jobs yet", "Who sees which jobs", null],
    ["/jobs?q=nowhere", "No matching jobs", "Jobs", "Clear filters"],
    ["/integrations/keys", "No API keys yet", "Get a key", "Create API key"],
    ["/integrations/endpoints", "No endpoints yet", "Create an endpoint", "Create endpoint"],
    ["/integrations/deliveries", "No deliveries yet", "Nothing arrives", "Go to endpoints"],
    ["/integrations/requests", "No requests yet", "Send the key", "Go to API keys"],
    ["/integrations/usage", "No requests yet", "Send the key", null],
    [
      "/integrations/requests?request_id=req_01JD0000000000000000000000",
      "No matching requests",
      "Requests and usage",
      "Clear filters",
    ],
  ] as const) {
    await page.evaluate(`__TSR_ROUTER__.history.push("${path}")`);
    const main = page.getByRole("main");
    await expectVisible(main.getByRole("heading", { name: title }));
    const link = main.getByRole("link", { name: `Guide: ${guide} (opens a new tab)`, exact: true });
    const href = (await link.getAttribute("href")) ?? "";
    expect([href, await headingInGuide(href.split("/guide/")[1] ?? "")]).toEqual([href, guide]);
    if (action === null) continue;
    const next = main.getByRole("button", { name: action }).or(main.getByRole("link", { name: action }));
    await expectVisible(next.first());
  }
});

it("short lists that are empty link the guide", async () => {
  const { page } = await openTab(app, { user: member });
  await page.goto("/");
  for (const [name, text] of [
    ["Due today", "No open jobs are due today."],
    ["Late", "No late jobs."],
    ["Why jobs need attention", "No jobs need attention."],
  ] as const) {
    const panel = page.getByRole("region", { name, exact: true });
    await expectVisible(panel.getByText(text));
    await expectVisible(panel.getByRole("link", { name: "Guide: The dashboard" }));
  }
});

describe("a password field", () => {
  // evidence: password-field-masked-and-pasteable
  it.each([
    ["/sign-in", "Password", "current-password"],
    ["/security", "Current password", "current-password"],
    ["/security", "New password", "new-password"],
  ])(
    "is masked until revealed, marked for password managers, and accepts pasted text: %s, %s",
    async (path, label, autocomplete) => {
      const { page, context } = await openTab(app, path === "/sign-in" ? {} : { user: member });
      await page.goto(path);
      const field = page.getByLabel(label, { exact: true });
      await expectVisible(field);
      expect(await field.getAttribute("type")).toBe("password");
      expect(await field.getAttribute("autocomplete")).toBe(autocomplete);

      await context.grantPermissions(["clipboard-read", "clipboard-write"]);
      await page.evaluate(`navigator.clipboard.writeText("pasted words")`);
      await field.focus();
      await page.keyboard.press("ControlOrMeta+V");
      await expect.poll(() => field.inputValue()).toBe("pasted words");

      const toggle = page.locator(".mantine-PasswordInput-wrapper", { has: field }).locator("button");
      await toggle.click();
      await expect.poll(() => field.getAttribute("type")).toBe("text");
      await toggle.click();
      await expect.poll(() => field.getAttribute("type")).toBe("password");
    },
  );
});
