/** The page of a job: what a dispatcher needs at first sight, the jobs before and after it in the list, and its print. */
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { findPageProblems } from "../support/browser/axe.ts";
import { createAgent } from "../support/browser/console.fixture.ts";
import { startConsole } from "../support/browser/shared-console.ts";
import { expectVisible, openTab, PHONE, visit } from "../support/browser/tabs.ts";

const app = await startConsole();
const { agent, user } = await createAgent(app, { role: "dispatcher" });

const heading = (page: Page, name: string) => page.getByRole("heading", { level: 1, name });

it("shows status, lateness and reason in the head, and how to reach the recipient, without a request to others", async () => {
  const [number = ""] = await app.createJobs(agent, [
    {
      patch: {
        normalized_status: "failed",
        failure_reason: "wrong_incomplete_address",
        scheduled_date: "2020-01-01",
        recipient_contact: "Priya +44 (0)20 7946-0123, priya@example.com",
        delivery_address: "5 Mill Lane\nLeeds",
        postal_code: "LS1 4AP",
        instructions: "Leave it at the reception of the building. ".repeat(20),
      },
    },
  ]);
  const { page, context } = await visit(app, `/jobs/${number}`, { user, viewport: PHONE });
  await expectVisible(heading(page, number));
  const head = page.getByRole("main").locator("header").first();
  await expectVisible(head.getByText("Delivery failed"));
  await expectVisible(head.getByText("Due 1 Jan 2020 Late"));
  await expectVisible(head.getByText("Wrong or incomplete address"));

  const href = async (name: string) => await page.getByRole("link", { name }).getAttribute("href");
  expect(await href("+44 (0)20 7946-0123")).toBe("tel:+442079460123");
  expect(await href("priya@example.com")).toBe("mailto:priya@example.com");
  const map = page.getByRole("link", { name: "Open map" });
  await map.hover();
  await map.focus();
  expect(new URL((await map.getAttribute("href"))!).searchParams.get("query")).toBe(
    "5 Mill Lane, Leeds, LS1 4AP",
  );
  await expect.poll(() => map.getAttribute("rel")).toBe("noopener noreferrer");

  const shown = page.getByRole("button", { name: "Show all" }).first();
  await expectVisible(shown);
  expect(await findPageProblems(page)).toEqual([]);
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.getByRole("button", { name: "Copy address" }).click();
  await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe("5 Mill Lane\nLeeds");

  const instructions = page.getByText("Leave it at the reception").first();
  const height = async () => (await instructions.boundingBox())!.height;
  await shown.click();
  await expectVisible(page.getByRole("button", { name: "Show less" }));
  await expect.poll(height).toBeGreaterThan(150);
});

it("goes through the list from which the user came, also over the end of a page of it", async () => {
  const prefix = `NEXT-${Date.now()}`;
  const numbers = Array.from({ length: 27 }, (_, at) => `${prefix}-${String(at).padStart(2, "0")}`);
  await app.createJobs(
    agent,
    numbers.map((markingNumber) => ({ markingNumber })),
  );
  const { page } = await visit(app, `/jobs?q=${prefix}&sort=marking_number`, { user });
  const at = async (index: number) => await expectVisible(heading(page, numbers[index]!));
  const previous = page.getByLabel("Previous job");
  const next = page.getByLabel("Next job");
  const nextLink = page.getByRole("link", { name: "Next job" });
  const previousLink = page.getByRole("link", { name: "Previous job" });

  await page.getByRole("link", { name: numbers[24]! }).click();
  await page.getByRole("link", { name: "Open full page" }).click();
  await at(24);
  await expectVisible(nextLink);
  await page.keyboard.press("j");
  await at(25);
  // The last page has two jobs.
  await nextLink.click();
  await at(26);
  await expectVisible(previousLink);
  await expect.poll(() => next.isDisabled()).toBe(true);
  await page.reload();
  await at(26);
  await expectVisible(previousLink);
  await page.keyboard.press("k");
  await at(25);
  await expectVisible(previousLink);
  await page.keyboard.press("k");
  await at(24);
  expect(await page.evaluate(() => document.activeElement?.tagName)).toBe("H1");

  await page.getByRole("link", { name: "Back to the list" }).click();
  await expectVisible(page.getByText("27 jobs in total, 25 on this page"));
  await page.getByRole("link", { name: numbers[0]! }).click();
  await page.getByRole("link", { name: "Open full page" }).click();
  await at(0);
  await expectVisible(nextLink);
  await expect.poll(() => previous.isDisabled()).toBe(true);

  // A link to share has no list.
  await page.goto(`/jobs/${numbers[3]}`);
  await at(3);
  expect(await next.count()).toBe(0);
});

it("prints one page, black on white, with the Marking Number as Code 128 and QR code", async () => {
  const [number = "", other = ""] = await app.createJobs(agent, [
    {
      patch: {
        recipient_name: "Priya ".repeat(40).trim(),
        delivery_address: "5 Mill Lane\n".repeat(80),
        instructions: "Ring twice.\n".repeat(80),
      },
    },
    { markingNumber: `Ü-${Date.now()}` },
  ]);
  const { page, pageErrors } = await openTab(app, { user });
  await page.addInitScript("window.prints = 0; window.print = () => { window.prints += 1; };");
  const print = async (markingNumber: string) => {
    await page.goto(`/jobs/${markingNumber}`);
    await page.getByRole("button", { name: "Print" }).click();
    await expect.poll(() => page.evaluate("window.prints")).toBe(1);
  };
  const picture = (name: string) => page.getByRole("img", { name });

  await print(number);
  expect(await picture(`QR code of ${number}`).count()).toBe(0);
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  await expectVisible(picture(`QR code of ${number}`));
  await expectVisible(picture(`Code 128 of ${number}`));
  expect(await heading(page, number).isVisible()).toBe(false);
  const style = await page
    .getByText("Ring twice.")
    .last()
    .evaluate((line) => [getComputedStyle(line).color, getComputedStyle(document.body).backgroundColor]);
  expect(style).toEqual(["rgb(0, 0, 0)", "rgb(255, 255, 255)"]);
  const pdf = (await page.pdf({ preferCSSPageSize: true })).toString("latin1");
  expect(pdf.match(/\/Type \/Page\b(?!s)/g)).toHaveLength(1);
  await page.emulateMedia({ media: "screen", colorScheme: "light" });

  // Code 128 has no such letter, so a scanner would read something else.
  await print(other);
  await page.emulateMedia({ media: "print" });
  await expectVisible(picture(`QR code of ${other}`));
  expect(await picture(`Code 128 of ${other}`).count()).toBe(0);
  await page.emulateMedia({ media: "screen" });
  expect(pageErrors).toEqual([]);
});
