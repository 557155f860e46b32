/** A user's choices of notifications and their webhook: what may be saved, what is never returned, and what is recorded. */
import { describe, expect, it } from "vitest";
import { sql } from "../../src/core/postgres/sql.ts";
import { createSignedInUser } from "../support/accounts/signed-in-user.ts";
import { startAppInstance } from "../support/app/app-instance.ts";
import { sharedApp } from "../support/app/shared-app.ts";

const VIEW = "notifications { choices { kind mail webhook } webhookHost webhookFailure }";
const CHOOSE = `mutation ($choices: [NotificationChoiceInput!]!) { setNotifications(choices: $choices) {
  ${VIEW} userErrors { code field message } } }`;
const SET = `mutation ($url: String) { setNotificationWebhook(url: $url) { ${VIEW} userErrors { code field } } }`;
const choose = (kind: string) => ({ kind, mail: true, webhook: false });
const URL_ON_FILE = "https://127.0.0.1:1/services/T0/B0/secret-part";

const app = await sharedApp("api");
const agent = await app.createOrganization("agent");

it.each([
  ["owner", ["ENDPOINT_FAILING", "KEY_EXPIRING"], ["LATE_JOBS", "WEEKLY_DIGEST"]],
  ["developer", [], ["ENDPOINT_FAILING", "KEY_EXPIRING", "WEEKLY_DIGEST"]],
  ["dispatcher", [], ["LATE_JOBS", "WEEKLY_DIGEST"]],
  ["viewer", [], ["LATE_JOBS", "WEEKLY_DIGEST"]],
] as const)("%s has by default %j by e-mail, and can choose the kinds of the role", async (role, on, off) => {
  const user = await createSignedInUser(app, agent.id, role);
  const { notifications } = await user.queryData(`{ ${VIEW} }`);
  const choices = [...on.map((kind) => [kind, true]), ...off.map((kind) => [kind, false])];
  expect(
    notifications.choices.map(({ kind, mail }: { kind: string; mail: boolean }) => [kind, mail]),
  ).toEqual(choices);
  const all = [...on, ...off];
  const saved = await user.queryData(CHOOSE, { choices: all.map(choose) });
  expect(saved.setNotifications.userErrors).toEqual([]);
  expect(saved.setNotifications.notifications.choices.every(({ mail }: { mail: boolean }) => mail)).toBe(
    true,
  );
  const foreign = ["LATE_JOBS", "KEY_EXPIRING"].find((kind) => !(all as string[]).includes(kind));
  if (foreign === undefined) return;
  const { setNotifications } = await user.queryData(CHOOSE, { choices: [choose(foreign)] });
  expect(setNotifications).toMatchObject({
    notifications: null,
    userErrors: [{ code: "INVALID", field: "choices.0.kind" }],
  });
});

describe("the webhook", () => {
  it("is stored encrypted, returned only by its host, and recorded without its path", async () => {
    const { id } = await app.createOrganization("agent");
    const owner = await createSignedInUser(app, id);
    const { setNotificationWebhook } = await owner.queryData(SET, { url: URL_ON_FILE });
    expect(setNotificationWebhook.notifications.webhookHost).toBe("127.0.0.1:1");
    await owner.queryData(SET, { url: null });
    await owner.queryData(SET, { url: URL_ON_FILE });
    const { auditLog } = await owner.queryData(
      '{ auditLog(actions: ["notifications.webhook_set", "notifications.webhook_removed"]) { nodes { action details } } }',
    );
    const set = { action: "notifications.webhook_set", details: { host: "127.0.0.1:1" } };
    expect(auditLog.nodes).toEqual([set, { action: "notifications.webhook_removed", details: null }, set]);
    const rows = await app.database.query(
      sql`select settings::text from notification_settings settings where user_id = ${owner.id}::uuid`,
    );
    expect(JSON.stringify(rows)).not.toMatch(/services|secret-part/);
    expect(JSON.stringify(await owner.queryData(`{ ${VIEW} }`))).not.toContain("secret-part");
  });

  it("cannot be one that the address guard refuses", async () => {
    await using strict = await startAppInstance(app.databaseUrl, { WAYMARK_ROLE: "api", TRUST_PROXY: "1" });
    const owner = await createSignedInUser(strict, agent.id);
    expect((await owner.queryData(SET, { url: "https://[::1]/x" })).setNotificationWebhook).toMatchObject({
      notifications: null,
      userErrors: [{ code: "INVALID", field: "url" }],
    });
  });

  it("is not tested before it is saved", async () => {
    const owner = await createSignedInUser(app, agent.id);
    const send = "mutation { sendTestNotification { delivered userErrors { code } } }";
    expect((await owner.queryData(send)).sendTestNotification).toEqual({
      delivered: null,
      userErrors: [{ code: "CONFLICT" }],
    });
  });
});
