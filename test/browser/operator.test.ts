/** An operator's pages about organisations and tasks. */
import { beforeAll, describe, expect, it } from "vitest";
import { toTypedId } from "../../src/core/ids.ts";
import { sql } from "../../src/core/postgres/sql.ts";
import { createTestUser } from "../support/accounts/session-client.ts";
import { findPageProblems } from "../support/browser/axe.ts";
import { createAgent } from "../support/browser/console.fixture.ts";
import { startConsole, startWorkingConsole } from "../support/browser/shared-console.ts";
import { expectVisible, openTab, visit } from "../support/browser/tabs.ts";

const app = await startConsole();
const operator = await createTestUser(app, { organizationId: null, role: "operator" });
const jobs = [{ patch: { scheduled_date: "2020-01-01" } }, {}];
const { agent, user: owner } = await createAgent(app, { jobs });

beforeAll(async () => {
  await owner.queryData(
    `mutation { inviteMember(input: { email: "new@partner.example" }) { userErrors { code } } }`,
  );
  await app.database.query(sql`
    insert into webhook_endpoint (id, organization_id, url, secrets, created_by, status, disabled_reason)
    values (gen_random_uuid(), ${agent.id}::uuid, 'https://partner.example/hook', '[]', 'test', 'disabled', 'gone')`);
  await app.database.query(sql`
    insert into request_usage (organization_id, day, key_id, succeeded, refused, failed, duration_ms)
    select ${agent.id}::uuid, (now() at time zone 'UTC')::date - age, gen_random_uuid(), 10, 30, 0, 10
    from unnest('{0, 10}'::int[]) age`);
});

const pageOf = ({ id }: { id: string }): string => `/operator/organizations/${toTypedId("org", id)}`;

describe("the page of an organisation", () => {
  it("shows its members, keys, endpoints, jobs and requests, and links to its late jobs", async () => {
    const { page } = await visit(app, pageOf(agent), { user: operator });
    const members = page.getByRole("region", { name: "Members" });
    await expectVisible(members.getByRole("row", { name: new RegExp(`${owner.email}.*Owner.*Off`) }));
    await expectVisible(members.getByRole("row", { name: /new@partner\.example/ }));
    await expectVisible(page.getByRole("table", { name: "API keys" }).getByText("Never").first());
    const endpoints = page.getByRole("region", { name: "Webhook endpoints" });
    await expectVisible(endpoints.getByRole("row", { name: /partner\.example\/hook.*Disabled/ }));
    const requests = page.getByRole("region", { name: "API requests" });
    await expectVisible(requests.getByText("75%"));
    await expectVisible(requests.getByText("30 requests"));
    await requests.getByText("30 days").click();
    await expectVisible(requests.getByText("60 requests"));
    await page.getByRole("link", { name: "Late 1" }).click();
    await page.waitForURL(/\/jobs\?.*late/);
    expect(new URL(page.url()).searchParams.get("agent")).toContain("org_");
  });

  it("renames the organisation, resends an invitation and resets a member's two-factor authentication", async () => {
    const { agent: renamed, user: admin } = await createAgent(app);
    const email = `new-${renamed.id}@partner.example`;
    await admin.queryData(`mutation { inviteMember(input: { email: "${email}" }) { userErrors { code } } }`);
    await app.database.query(
      sql`update user_account set two_factor_enabled = true where id = ${admin.id}::uuid`,
    );
    const { page } = await visit(app, pageOf(renamed), { user: operator });
    await page.getByRole("button", { name: "Rename…" }).click();
    const dialog = page.getByRole("dialog", { name: /^Rename/ });
    await dialog.getByLabel("Name").fill(agent.name);
    await dialog.getByRole("button", { name: "Rename" }).click();
    await expectVisible(dialog.getByText("already exists"));
    await dialog.getByLabel("Name").fill(`Renamed ${renamed.id}`);
    await dialog.getByRole("button", { name: "Rename" }).click();
    await expectVisible(page.getByRole("heading", { name: `Renamed ${renamed.id}` }));
    await expectVisible(page.getByText("Renamed an organisation"));

    await page.getByRole("button", { name: `Resend the invitation to ${email}` }).click();
    await expectVisible(page.getByText(`Invitation resent to ${email}.`));

    await page.getByRole("button", { name: `Actions for ${admin.email}` }).click();
    await page.getByRole("menuitem", { name: "Reset two-factor…" }).click();
    const confirm = page.getByRole("dialog", { name: /^Reset two-factor/ });
    await confirm.getByRole("button", { name: "Reset" }).click();
    await expectVisible(page.getByText(`${admin.email} can sign in with the password alone.`));
    await expectVisible(page.getByRole("row", { name: new RegExp(`${admin.email}.*Off`) }));
  });

  it("says what an organisation without members, keys and endpoints lacks", async () => {
    const { id } = await app.organizations.create({ name: "Empty", type: "contractor" });
    const { page } = await visit(app, pageOf({ id }), { user: operator });
    for (const text of ["No one has registered yet.", "No active keys", "No endpoints."])
      await expectVisible(page.getByText(text));
  });

  it("says that an unknown organisation does not exist", async () => {
    const { page } = await visit(app, "/operator/organizations/org_unknown", { user: operator });
    await expectVisible(page.getByRole("heading", { name: "Organisation not found" }));
  });
});

it("lists organisations with their activity, and names the one whose requests are mostly rejected", async () => {
  const { page } = await visit(app, `/operator/organizations?q=${encodeURIComponent(agent.name)}`, {
    user: operator,
  });
  const table = page.getByRole("table", { name: "Organisations" });
  await expectVisible(table.getByRole("row", { name: new RegExp(`${agent.name} Agent .* 40 75% 1 Active`) }));
  await page.goto("/operator/organizations");
  const attention = page.getByRole("region", { name: /Needs attention/ });
  const showAll = attention.getByRole("button", { name: /Show all/ });
  await expectVisible(attention.getByRole("listitem").first());
  if (await showAll.isVisible()) await showAll.click();
  const items = attention.getByRole("listitem").filter({ hasText: agent.name });
  const refused = items.filter({ hasText: "75% of 40 requests in 7 days got 4xx" });
  await refused.getByRole("link", { name: agent.name }).click();
  await expectVisible(page.getByRole("heading", { name: agent.name }));
});

describe("tasks", () => {
  it("are listed with their interval, last run, result and next run, also on Agenda's dashboard", async () => {
    const { app: working } = await startWorkingConsole();
    const user = await createTestUser(working, { organizationId: null, role: "operator" });
    // The dashboard's event stream returns 204.
    const { page } = await visit(working, "/operator/tasks", { user }, /SSE connection error/);
    const table = page.getByRole("table", { name: "Tasks" });
    const row = table.getByRole("row", { name: /Delete old deliveries/ });
    await expectVisible(row.getByText("webhooks.retention · every hour"));
    await expectVisible(row.getByText("Succeeded"));
    await expectVisible(page.getByRole("link", { name: "Open dashboard" }));
    const listed = page.waitForResponse((response) => response.url().includes("/operator/agenda/api?"));
    await page.goto("/operator/agenda/");
    expect((await listed).status()).toBe(200);
    const stream = "fetch('api/events').then(({ status }) => status)";
    expect(await page.evaluate<number>(stream)).toBe(204);
  });

  it("say why they can't be shown without MongoDB", async () => {
    const { page } = await visit(app, "/operator/tasks", { user: operator }, /503/);
    await expectVisible(page.getByText(/MongoDB is unreachable/));
    await expectVisible(page.getByRole("button", { name: "Try again" }));
  });
});

it("views the console as a partner, read-only, and stops", async () => {
  const { page, pageErrors } = await openTab(app, { user: operator });
  const viewed = await app.createOrganization("agent");
  await app.createJobs(viewed, [{ markingNumber: "VIEWED-1" }]);
  await page.goto(pageOf(viewed));
  await page.getByRole("button", { name: "View as partner…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "View as partner" }).click();
  const band = page.getByText(`You see what viewers of ${viewed.name} see`);
  await expectVisible(band);
  await expectVisible(page.getByRole("heading", { level: 1, name: "Dashboard" }));
  await page.getByRole("link", { name: "Jobs", exact: true }).click();
  await expectVisible(page.getByRole("link", { name: "VIEWED-1" }));
  expect(await page.getByRole("checkbox").count()).toBe(0);
  expect(await page.getByRole("link", { name: "Organisations" }).count()).toBe(0);
  expect(await findPageProblems(page)).toEqual([]);
  await page.reload();
  await expectVisible(band);
  await page.getByRole("button", { name: "Stop viewing" }).click();
  await expectVisible(page.getByRole("heading", { level: 1, name: viewed.name }));
  await band.waitFor({ state: "detached" });
  expect(pageErrors).toEqual([]);
});
