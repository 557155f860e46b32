/** Error and access-denied states, and signing in. */
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { createTestUser, type TestUser } from "../support/accounts/session-client.ts";
import { findPageProblems } from "../support/browser/axe.ts";
import { createAgent } from "../support/browser/console.fixture.ts";
import { startConsole } from "../support/browser/shared-console.ts";
import { enterPassword, expectVisible, PHONE, openTab, type Tab, visit } from "../support/browser/tabs.ts";
import { startAppInstance, type AppInstance } from "../support/app/app-instance.ts";
import { totpCode } from "../support/accounts/totp.ts";

const app = await startConsole();
const jobs = [{ markingNumber: "STATE-1" }, { markingNumber: "STATE-2" }];
const { agent, user: owner } = await createAgent(app, { jobs });
const operator = await createTestUser(app, { organizationId: null, role: "operator" });

async function openAs(user?: TestUser): Promise<Tab> {
  return await openTab(app, user && { user });
}

function pathOf(page: Page): string {
  const { pathname, search } = new URL(page.url());
  return pathname + decodeURIComponent(search);
}

describe("a failure", () => {
  it("of the server shows a message, and Try again works once it is over", async () => {
    const { page } = await openAs(owner);
    await page.route("**/graphql", (route) => route.fulfill({ status: 500, body: "" }));
    await page.goto("/jobs");
    const alert = page.getByRole("alert");
    await expectVisible(alert.getByText("Something went wrong"));
    const link = alert.getByRole("link", { name: "Guide: InternalServerErrorException (500)" });
    await expect
      .poll(() => link.getAttribute("href"))
      .toBe(`${app.url}/guide/errors#internalservererrorexception-500`);

    await page.unroute("**/graphql");
    await alert.getByRole("button", { name: "Try again" }).click();
    await expectVisible(page.getByRole("link", { name: "STATE-1" }));
  });

  it("reported by GraphQL shows the request ID", { tags: "long" }, async () => {
    const { page } = await openAs(owner);
    const extensions = { code: "INTERNAL_SERVER_ERROR", requestId: "req_01JD0000000000000000000000" };
    const body = JSON.stringify({ data: null, errors: [{ message: "Something failed here", extensions }] });
    await page.route("**/graphql", (route) => route.fulfill({ contentType: "application/json", body }));
    await page.goto("/jobs/STATE-1");
    const alert = page.getByRole("alert").first();
    await expectVisible(alert.getByText("Something failed here"));
    await expectVisible(alert.getByText(extensions.requestId));
  });

  it("to load the session shows an error instead of an empty page", { tags: "long" }, async () => {
    const { page } = await openAs(owner);
    // As the server sends the page while PostgreSQL is down.
    await page.route("**/jobs", async (route) => {
      const response = await route.fetch();
      const body = (await response.text()).replace(/<script[^>]* id="session">.*?<\/script>/, "");
      await route.fulfill({ response, body });
    });
    await page.route("**/auth/session", (route) => route.abort());
    await page.goto("/jobs");
    await expectVisible(page.getByRole("alert").getByText("No connection"));
    // The guide could not be reached either.
    expect(await page.getByRole("link", { name: /^Guide:/ }).count()).toBe(0);

    await page.unroute("**/auth/session");
    await page.getByRole("button", { name: "Try again" }).click();
    await expectVisible(page.getByRole("link", { name: "STATE-1" }));
  });

  it("to sign out closes the menu of a phone, which would cover the toast", { tags: "long" }, async () => {
    const { page } = await openTab(app, { user: owner, viewport: PHONE });
    await page.goto("/jobs");
    await page.route("**/auth/sign-out", (route) => route.fulfill({ status: 500, body: "" }));
    await page.getByRole("button", { name: "Menu", exact: true }).click();
    await page.getByRole("dialog", { name: "Menu" }).getByRole("button", { name: "Sign out" }).click();
    const toast = page.getByRole("alert").filter({ hasText: "Something went wrong" });
    const opening = page.waitForEvent("popup");
    await toast.getByRole("link", { name: "Guide: InternalServerErrorException (500)" }).click();
    expect((await opening).url()).toContain("/guide/errors#");
  });

  it(
    "of an action shows a toast whose link the keyboard reaches, also after leaving the screen",
    { tags: "long" },
    async () => {
      const { page, pageErrors } = await openAs(owner);
      await page.goto("/jobs");
      await expectVisible(page.getByRole("link", { name: "STATE-1" }));
      await page.route("**/auth/sign-out", (route) => route.fulfill({ status: 409, body: "" }));
      await page.getByRole("button", { name: "Sign out" }).click();
      const toast = page.getByRole("alert").filter({ hasText: "Something went wrong" });
      const link = toast.getByRole("link", { name: "Guide: Jobs (opens a new tab)" });
      await expectVisible(link);
      expect(await findPageProblems(page)).toEqual([]);

      await page.getByRole("link", { name: "Members" }).click();
      await expectVisible(page.getByRole("heading", { level: 1, name: "Members" }));
      await toast.getByRole("button", { name: "Dismiss" }).focus();
      await page.keyboard.press("Shift+Tab");
      const opening = page.waitForEvent("popup");
      await page.keyboard.press("Enter");
      expect((await opening).url()).toBe(`${app.url}/guide/console#jobs`);
      // The browser logs the status.
      expect(pageErrors.filter((error) => !error.includes("409"))).toEqual([]);
    },
  );

  it("of the network shows a banner, and keeps the console, which loads other pages later", async () => {
    const { page, context } = await openAs(owner);
    await page.goto("/jobs");
    await expectVisible(page.getByRole("link", { name: "STATE-1" }));
    await context.setOffline(true);
    await expectVisible(page.getByText("You are offline."));
    await expectVisible(page.getByRole("link", { name: "STATE-1" }));
    await page.getByRole("link", { name: "Members" }).click();
    await expectVisible(page.getByRole("alert").getByText("No connection"));
    await page.getByRole("link", { name: "Security" }).click();
    await expectVisible(page.getByRole("alert").getByText("No connection"));
    await context.setOffline(false);
    await page.getByText("You are offline.").waitFor({ state: "hidden" });
    await page.getByRole("button", { name: "Try again" }).click();
    await expectVisible(page.getByRole("heading", { level: 1, name: "Security" }));
    await page.getByRole("link", { name: "Members" }).click();
    await expectVisible(page.getByRole("heading", { level: 1, name: "Members" }));
  });
});

describe("a broken link", () => {
  it("to a page of the list leads to the first page, and keeps the filters", async () => {
    const { page } = await openAs(owner);
    await page.goto("/jobs?q=STATE&after=garbage");
    await expectVisible(page.getByText("This link has no valid page of the list"));
    await page.getByRole("button", { name: "Go to first page" }).click();
    await expectVisible(page.getByText("2 jobs in total"));
    expect(pathOf(page)).toBe("/jobs?q=STATE");
  });

  it("with broken percent-encoding shows in the console that the job is not found", async () => {
    const { page } = await visit(app, "/jobs/%E0%A4%A", { user: owner });
    await expectVisible(page.getByRole("heading", { level: 1, name: "Job not found" }));
    await expectVisible(page.getByRole("link", { name: "Dashboard", exact: true }));
  });
});

describe("access", () => {
  let strict: AppInstance;
  beforeAll(async () => {
    const env = { WAYMARK_ROLE: "api", REQUIRE_TWO_FACTOR: "all" };
    strict = await startAppInstance(app.databaseUrl, env);
    return () => strict[Symbol.asyncDispose]();
  });

  it.each(["/operator/requests", "/operator/audit"])("is denied to an owner at %s", async (path) => {
    const { page } = await openAs(owner);
    const queries: string[] = [];
    page.on("request", (request) => void (request.url().endsWith("/graphql") && queries.push(request.url())));
    await page.goto(path);
    await expectVisible(page.getByRole("heading", { level: 1, name: "You don’t have access to this page" }));
    await expectVisible(page.getByText(/Only operators of the service/));
    expect(queries).toEqual([]);
    const links = await page.getByRole("navigation", { name: "Main" }).getByRole("link").allInnerTexts();
    expect(links).toContain("Jobs");
    expect(links).not.toContain("Requests");
  });

  it("shows operators the keys and endpoints of each organisation, and no usage", async () => {
    const { page } = await openAs(operator);
    await page.goto("/integrations/keys");
    await expectVisible(page.getByRole("columnheader", { name: "Organisation" }).first());
    const links = await page.getByRole("navigation", { name: "Main" }).getByRole("link").allInnerTexts();
    expect(links).toContain("Integrations");
    await page.goto("/integrations/usage");
    await expectVisible(page.getByText("It is for the users of an organisation, and you are an operator."));
  });

  it(
    "sends an operator who opens an organisation's audit log to the operators' log",
    { tags: "long" },
    async () => {
      const { page } = await openAs(operator);
      await page.goto("/audit");
      await expectVisible(page.getByRole("combobox", { name: "Organisation" }));
      expect(pathOf(page)).toBe("/operator/audit");
      const entry = page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Audit log" });
      await expect.poll(() => entry.getAttribute("aria-current")).toBe("page");
    },
  );

  it("requires signing in with the right password, and then opens the requested page", async () => {
    const { page } = await openAs();
    await page.goto("/jobs?q=STATE-2");
    await expectVisible(page.getByRole("heading", { name: "Sign in" }));
    await enterPassword(page, { ...owner, password: "not the password at all" });
    await expectVisible(page.getByRole("alert").getByRole("link", { name: /^Guide: Getting access/ }));
    expect(pathOf(page)).toBe("/sign-in?next=/jobs?q=STATE-2");
    await enterPassword(page, owner);
    await expectVisible(page.getByRole("link", { name: "STATE-2" }));
    expect(pathOf(page)).toBe("/jobs?q=STATE-2");
  });

  it.each([
    ["an operator", "/operator/agenda/", "MongoDB is unreachable"],
    ["a member", "/jobs?q=STATE-2", "<title>Jobs · Waymark</title>"],
  ] as const)(
    "requires %s to set up two-factor authentication, then opens %s",
    async (visitor, path, content) => {
      const user = await createTestUser(
        app,
        visitor === "a member"
          ? { organizationId: agent.id, role: "dispatcher" }
          : { organizationId: null, role: "operator" },
      );
      const { page } = await openTab(strict, { user });
      await page.goto(path);
      await expectVisible(page.getByRole("heading", { name: "Set up two-factor authentication" }));
      expect(pathOf(page)).toBe(`/two-factor-required?next=${path}`);

      await page.getByRole("button", { name: "Set up" }).click();
      await page.getByLabel("Your password").fill(user.password);
      await page.getByRole("button", { name: "Continue" }).click();
      const secret = (await page.getByText(/^([A-Z2-7]{4} )+[A-Z2-7]+$/).innerText()).replaceAll(" ", "");
      await page
        .getByLabel("Code", { exact: true })
        .fill(totpCode(`otpauth://totp/waymark?secret=${secret}`));
      await page.getByRole("button", { name: "Turn on" }).click();
      const codes = page.getByRole("dialog", { name: "Your recovery codes" });
      await expectVisible(codes);
      // Only the confirmation button closes the dialog.
      await page.keyboard.press("Escape");
      await expect
        .poll(() => codes.getByRole("button").allInnerTexts())
        .toEqual(expect.arrayContaining(["Download", "I’ve saved them"]));
      expect(await page.getByRole("button", { name: "Close" }).count()).toBe(0);
      await codes.getByRole("button", { name: "I’ve saved them" }).click();
      await expect.poll(() => page.content()).toContain(content);
      expect(pathOf(page)).toBe(path);

      await page.goto("/security");
      await expectVisible(page.getByText("Required for your account."));
      expect(await page.getByRole("button", { name: "Turn off" }).count()).toBe(0);
    },
  );

  it(
    "redirects from the two-factor setup page users who need no two-factor authentication, and asks others to sign in",
    { tags: "long" },
    async () => {
      const { page } = await openAs(owner);
      await page.goto("/two-factor-required?next=/members");
      await expectVisible(page.getByRole("heading", { name: "Members" }));
      const anonymous = await openAs();
      await anonymous.page.goto("/two-factor-required?next=/members");
      await expectVisible(anonymous.page.getByRole("heading", { name: "Sign in" }));
      expect(pathOf(anonymous.page)).toBe("/sign-in?next=/members");
    },
  );

  it("returns to Agenda's dashboard after signing in", { tags: "long" }, async () => {
    const { page } = await openAs();
    await page.goto("/operator/agenda/");
    await expectVisible(page.getByRole("heading", { name: "Sign in" }));
    const arrived = page.waitForURL("**/operator/agenda/", { waitUntil: "commit" });
    await enterPassword(page, operator);
    await arrived;
    await expect.poll(() => page.content()).toContain("MongoDB is unreachable");
  });

  it("requires signing in again after signing out in another tab", async () => {
    const { page, context } = await openAs(owner);
    // Without live updates, which would notice it before.
    await page.goto("/members");
    await expectVisible(page.getByRole("heading", { level: 1, name: "Members" }));
    const other = await context.newPage();
    await other.goto("/jobs");
    await other.getByRole("button", { name: "Sign out" }).click();
    await expectVisible(other.getByRole("heading", { name: "Sign in" }));

    await page.getByRole("link", { name: "Jobs" }).click();
    await expectVisible(page.getByRole("heading", { name: "Sign in" }));
    expect(pathOf(page)).toBe("/sign-in?next=/jobs");
  });
});
