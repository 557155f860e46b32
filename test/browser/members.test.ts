/** The roles of members: inviting, changing a role, and what each role sees. */
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import type { UserRole } from "../../src/organizations/user.entity.ts";
import { createTestUser, type TestUser } from "../support/accounts/session-client.ts";
import { createAgent } from "../support/browser/console.fixture.ts";
import { startConsole } from "../support/browser/shared-console.ts";
import { createTwoModes, switchTo } from "../support/browser/test-mode.ts";
import { expectVisible, visit } from "../support/browser/tabs.ts";

const app = await startConsole();
const { agent, user: owner } = await createAgent(app, { jobs: [{ markingNumber: "ROLE-1" }] });

const withRole = (role: UserRole): Promise<TestUser> =>
  createTestUser(app, { organizationId: agent.id, role });

/** Selects a role in the row of a member. */
async function chooseRole(page: Page, { email }: TestUser, role: RegExp): Promise<void> {
  await page.getByRole("combobox", { name: `Role of ${email}` }).click();
  await page.getByRole("option", { name: role }).click();
}

async function roleOf({ email }: TestUser): Promise<string | undefined> {
  const { members } = await owner.queryData("{ members { email role } }");
  return members.find((member: { email: string }) => member.email === email)?.role as string | undefined;
}

describe("an owner", () => {
  it("invites with a role, whose rights the dialog says", async () => {
    const { page } = await visit(app, "/members", { user: owner });
    await page.getByRole("button", { name: "Invite" }).click();
    const dialog = page.getByRole("dialog", { name: "Invite a member" });
    await expect.poll(() => dialog.getByRole("radio", { name: "Dispatcher" }).isChecked()).toBe(true);
    for (const right of [/manages members/, /API keys and webhooks/, /changes jobs/, /changes nothing/])
      await expectVisible(dialog.getByText(right));
    await dialog.getByLabel("E-mail").fill("developer@roles.example");
    await dialog.getByRole("radio", { name: "Developer" }).check();
    await dialog.getByRole("button", { name: "Send invitation" }).click();
    const row = page
      .getByRole("table", { name: "Invitations" })
      .getByRole("row", { name: /developer@roles/ });
    await expectVisible(row.getByRole("cell", { name: "Developer", exact: true }));
  });

  it("changes a member's role", async () => {
    const member = await withRole("dispatcher");
    const { page } = await visit(app, "/members", { user: owner });
    await chooseRole(page, member, /^Viewer/);
    await expectVisible(page.getByText(`${member.name} is now a viewer.`));
    expect(await roleOf(member)).toBe("VIEWER");
  });

  it("confirms a change of their own role", async () => {
    const leaving = await withRole("owner");
    const { page } = await visit(app, "/members", { user: leaving });
    await chooseRole(page, leaving, /^Dispatcher/);
    const dialog = page.getByRole("dialog", { name: "Give up your role?" });
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await dialog.waitFor({ state: "hidden" });
    expect(await roleOf(leaving)).toBe("OWNER");
    await chooseRole(page, leaving, /^Dispatcher/);
    await dialog.getByRole("button", { name: "Change my role" }).click();
    await page.getByRole("button", { name: "Invite" }).waitFor({ state: "hidden" });
    expect(await roleOf(leaving)).toBe("DISPATCHER");
    expect(await page.getByRole("combobox").count()).toBe(0);
  });
});

const everyone = ["Dashboard", "Jobs", "Members", "Notifications", "Security"];

it.each<[UserRole, { links: string[]; edits: boolean; views: boolean; refused: string[] }]>([
  ["developer", { links: ["Integrations"], edits: false, views: false, refused: ["/audit"] }],
  ["dispatcher", { links: [], edits: true, views: true, refused: ["/integrations/keys", "/audit"] }],
  ["viewer", { links: [], edits: false, views: false, refused: ["/integrations/requests", "/simulator"] }],
])("a %s sees only what the role may do", async (role, { links, edits, views, refused }) => {
  const { page } = await visit(app, "/jobs", { user: await withRole(role) });
  await expectVisible(page.getByRole("link", { name: "ROLE-1" }));
  const navigation = page.getByRole("navigation", { name: "Main" });
  expect((await navigation.getByRole("link").allInnerTexts()).toSorted()).toEqual(
    [...everyone, ...links].toSorted(),
  );
  await expect.poll(async () => (await page.getByRole("checkbox").count()) > 0).toBe(edits);
  await expect.poll(() => page.getByRole("navigation", { name: "Views" }).count()).toBe(views ? 1 : 0);
  await page.goto("/jobs/ROLE-1");
  // The heading is there before the job.
  await expectVisible(page.getByRole("heading", { name: "History" }));
  await expect.poll(() => page.getByRole("button", { name: "Edit" }).count()).toBe(edits ? 1 : 0);
  for (const path of refused) {
    await page.goto(path);
    await expectVisible(page.getByText(new RegExp(`Your role in .* is ${role}. An owner can`)));
  }
});

it("a developer changes jobs in test mode only", async () => {
  const { agent: own, testNumber, liveNumber } = await createTwoModes(app);
  const user = await createTestUser(app, { organizationId: own.id, role: "developer" });
  const { page } = await visit(app, `/jobs/${liveNumber}`, { user });
  await expectVisible(page.getByRole("heading", { name: "History" }));
  expect(await page.getByRole("button", { name: "Edit" }).count()).toBe(0);
  await switchTo(page, "Test");
  await page.getByRole("link", { name: "Simulator", exact: true }).click();
  await expectVisible(page.getByRole("heading", { level: 1, name: "Simulator" }));
  await page.goto(`/jobs/${testNumber}`);
  await expectVisible(page.getByRole("button", { name: "Edit" }));
});
