/** From requesting an account to a working key and webhook, by keyboard alone. */
import { expect, it, vi } from "vitest";
import { toTypedId } from "../../src/core/ids.ts";
import { VALID_PASSWORD } from "../support/accounts/session-client.ts";
import { createSignedInUser } from "../support/accounts/signed-in-user.ts";
import * as journey from "../support/browser/onboarding-flow.ts";
import { createKeyboardUser } from "../support/browser/page-user.ts";
import { startWorkingConsole } from "../support/browser/shared-console.ts";
import { openTab } from "../support/browser/tabs.ts";
import { eventually } from "../support/eventually.ts";
import { startTestReceiver, type TestReceiver } from "../support/webhooks/receiver.ts";

vi.setConfig({ testTimeout: 240_000 });

const { app, mails } = await startWorkingConsole();
const operator = await createSignedInUser(app, null);

it("gives a new partner access, a key, a webhook and a first changed job by the keyboard alone", async () => {
  await using receiver = await startTestReceiver({ respond: () => ({ body: "Thank you" }) });
  const [name, email] = ["Keyboard Couriers", "dispatch@keyboard.example"];
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

  await assignJob(name, "KEYBOARD-1");
  await journey.changeStatus(partner, "KEYBOARD-1", "In transit");
  expect(await jobsOf(key)).toEqual([["KEYBOARD-1", "in_transit"]]);
  await eventually(() =>
    expect(typesReceived(receiver)).toEqual(["webhook.test", "job.assigned", "job.status_changed"]),
  );
  await journey.expectDelivered(partner, "job.status_changed", "KEYBOARD-1");

  expect([...partner.errors, ...reviewer.errors]).toEqual([]);
});

async function visit(): Promise<journey.ConsoleVisitor & { errors: string[] }> {
  const { page, pageErrors } = await openTab(app);
  return { page, errors: pageErrors, user: createKeyboardUser(page) };
}

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
  const agent = await app.createOrganization("agent");
  const to = await app.organizations.find(contractor);
  const item = {
    markingNumber,
    agentId: toTypedId("org", agent.id),
    contractorId: toTypedId("org", to!.id),
    fields: { recipientName: "Harbour Pharmacy", normalizedStatus: "assigned" },
  };
  const { createJobs } = await operator.queryData(
    "mutation ($items: [CreateJobInput!]!) { createJobs(items: $items) { createdCount userErrors { message } } }",
    { items: [item] },
  );
  expect(createJobs).toEqual({ createdCount: 1, userErrors: [] });
}

function typesReceived({ received }: TestReceiver): string[] {
  return received.map(({ body }) => (JSON.parse(body) as { type: string }).type);
}
