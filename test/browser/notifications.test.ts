/** A user chooses notifications, saves a webhook after confirming their identity, and sends a test to it. */
import { expect, it } from "vitest";
import { sql } from "../../src/core/postgres/sql.ts";
import { createAgent } from "../support/browser/console.fixture.ts";
import { startConsole } from "../support/browser/shared-console.ts";
import { expectVisible, openTab } from "../support/browser/tabs.ts";
import { startTestReceiver } from "../support/webhooks/receiver.ts";

it("an owner chooses the late list, saves a webhook, and sees what a test returned", async () => {
  const app = await startConsole();
  await using receiver = await startTestReceiver({ respond: () => ({ status: 404, body: "no_service" }) });
  const { user } = await createAgent(app);
  const { page, pageErrors } = await openTab(app, { user });
  await page.goto("/");
  await page.getByRole("link", { name: "Notifications" }).click();
  const box = (kind: string, name: string) =>
    page.getByRole("group", { name: kind }).getByRole("checkbox", { name });
  await expect.poll(() => box("Endpoint failing", "E-mail").isChecked()).toBe(true);
  await expect.poll(() => box("Late jobs", "Webhook").isDisabled()).toBe(true);

  await app.database.query(sql`
    update user_session set authenticated_at = now() - interval '11 minutes' where user_id = ${user.id}::uuid`);
  await page.getByLabel("URL of the incoming webhook").fill(receiver.url);
  await page.getByRole("button", { name: "Save webhook" }).click();
  const dialog = page.getByRole("dialog", { name: "Confirm it’s you" });
  await dialog.getByLabel("Your password").fill(user.password);
  await dialog.getByRole("button", { name: "Confirm" }).click();
  await expectVisible(page.getByText(`Messages go to 127.0.0.1:${receiver.port}.`));

  await page.getByRole("button", { name: "Send a test" }).click();
  await expectVisible(page.getByText("404: no_service"));
  receiver.respond = () => ({ status: 200, body: "ok" });
  await page.getByRole("button", { name: "Send a test" }).click();
  await expectVisible(page.getByText("The test arrived: 200: ok"));
  await expect.poll(() => page.getByText("The last message failed").count()).toBe(0);

  await box("Late jobs", "Webhook").check();
  await page.getByRole("button", { name: "Save choices" }).click();
  await expectVisible(page.getByText("Notifications saved."));
  await page.reload();
  await expect.poll(() => box("Late jobs", "Webhook").isChecked()).toBe(true);
  await expect.poll(() => page.getByLabel("New URL of the incoming webhook").inputValue()).toBe("");
  // The browser reports the 403 that asked for the password.
  expect(pageErrors).toEqual([expect.stringContaining("403 (Forbidden)")]);
});
