/** From requesting an account to a working key and webhook, with a mouse and by keyboard alone. */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from "vitest";
import { toTypedId } from "../../src/platform/ids.ts";
import { VALID_PASSWORD, createTestUser, type TestUser } from "../support/accounts/session-client.ts";
import {
  BROWSER_START_TIMEOUT_MS,
  BROWSER_TIMEOUT_MS,
  startBrowser,
  openTab,
} from "../support/browser/tabs.ts";
import { createSignedInUser } from "../support/accounts/signed-in-user.ts";
import { createKeyboardUser, createMouseUser } from "../support/browser/page-user.ts";
import * as journey from "../support/browser/onboarding-flow.ts";
import { startTestSmtpServer, type TestSmtpServer } from "../support/smtp-server.ts";
import { startTestApp, type TestApp } from "../support/app/app.fixture.ts";
import { createTestMongo } from "../support/database/test-mongo.ts";
import { startTestReceiver, type TestReceiver } from "../support/webhooks/receiver.ts";

vi.setConfig({ testTimeout: 2 * BROWSER_TIMEOUT_MS, hookTimeout: BROWSER_START_TIMEOUT_MS });

const opened = new AsyncDisposableStack();
let browser: Browser;
let app: TestApp;
let mails: TestSmtpServer;
let operator: TestUser;

beforeAll(async () => {
  browser = opened.adopt(await startBrowser(), (instance) => instance.close());
  mails = opened.use(await startTestSmtpServer());
  const mongo = opened.use(createTestMongo());
  app = opened.use(
    await startTestApp({
      MONGODB_URL: mongo.url,
      SMTP_URL: `smtp://127.0.0.1:${mails.port}`,
      WEBHOOK_ALLOW_PRIVATE: "on",
    }),
  );
  operator = await createTestUser(app, { organizationId: null, role: "operator" });
});
afterAll(() => opened.disposeAsync());

it.each([
  ["with a mouse", createMouseUser],
  ["by the keyboard alone", createKeyboardUser],
] as const)(
  "gives a new partner access, a key, a webhook and a first changed job: %s",
  async (input, createUser) => {
    await using receiver = await startTestReceiver({ respond: () => ({ body: "Thank you" }) });
    const name = `Contractor ${input}`;
    const email = `dispatch@${input.replaceAll(" ", "-")}.example`;
    const visit = async (): Promise<journey.ConsoleVisitor & { errors: string[] }> => {
      const { page, context, pageErrors } = await openTab(browser, app);
      onTestFinished(() => context.close());
      return { page, errors: pageErrors, user: createUser(page) };
    };
    const [partner, reviewer] = [await visit(), await visit()];

    await journey.requestAccount(partner, email, name);
    await reviewer.page.goto("/sign-in");
    await journey.signInByForm(reviewer, operator);
    await journey.approveRequest(reviewer, name);
    await journey.registerAccount(partner, await journey.registrationLink(mails, email), "Dispatch desk");
    await journey.signInByForm(partner, { email, password: VALID_PASSWORD });

    const key = await journey.createKey(partner, "Warehouse sync");
    expect(await jobsOf(key)).toEqual([]);

    const secret = await journey.createEndpoint(partner, receiver.url);
    expect(secret).toMatch(/^whsec_/);
    await journey.sendTestEvent(partner, "HTTP 200");
    await partner.page.getByText("Thank you").waitFor();

    const markingNumber = `WM ${input}`;
    await assignJob(name, markingNumber);
    await journey.changeStatus(partner, markingNumber, "In transit");
    expect(await jobsOf(key)).toEqual([[markingNumber, "in_transit"]]);
    await journey.expectDelivered(partner, "job.status_changed", markingNumber);
    expect(typesReceived(receiver)).toEqual(["webhook.test", "job.assigned", "job.status_changed"]);

    expect([...partner.errors, ...reviewer.errors]).toEqual([]);
  },
);

async function jobsOf(key: string): Promise<[string, string][]> {
  const { status, body } = await app.call("/v1/jobs", { key });
  expect(status).toBe(200);
  return body.data.items.map((job: { marking_number: string; normalized_status: string }) => [
    job.marking_number,
    job.normalized_status,
  ]);
}

/** Creates a job for the contractor, as an operator's system does through GraphQL. */
async function assignJob(contractor: string, markingNumber: string): Promise<void> {
  const operatorClient = await createSignedInUser(app, null);
  const agent = await app.createOrganization("agent");
  const to = await app.organizations.find(contractor);
  const item = {
    markingNumber,
    agentId: toTypedId("org", agent.id),
    contractorId: toTypedId("org", to!.id),
    fields: { recipientName: "Harbour Pharmacy", normalizedStatus: "assigned" },
  };
  const { createJobs } = await operatorClient.queryData(
    "mutation ($items: [CreateJobInput!]!) { createJobs(items: $items) { createdCount userErrors { message } } }",
    { items: [item] },
  );
  expect(createJobs).toEqual({ createdCount: 1, userErrors: [] });
}

function typesReceived({ received }: TestReceiver): string[] {
  return received.map(({ body }) => (JSON.parse(body) as { type: string }).type);
}
