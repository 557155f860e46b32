/** Data for every page of the console: jobs, working and failing webhooks, users, account requests and mails. */
import { toTypedId } from "../../../src/core/ids.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import type { UserRole } from "../../../src/organizations/user.entity.ts";
import { createTestUser, createSessionClient } from "../accounts/session-client.ts";
import { waitForMail, extractLinkToken } from "../accounts/mails.ts";
import { createSignedInUser, type SignedInTestUser } from "../accounts/signed-in-user.ts";
import type { TestJob, TestOrganization } from "../app/app.fixture.ts";
import type { SharedApp } from "../app/shared-app.ts";
import { startTestReceiver } from "../webhooks/receiver.ts";
import { eventually } from "../eventually.ts";

export type ConsoleFixture = Awaited<ReturnType<typeof fillConsole>>;

/** Call it once for an app, because the account requests have fixed e-mail addresses. */
export async function fillConsole(app: SharedApp) {
  const agent = await app.createOrganization("agent");
  const owner = await createSignedInUser(app, agent.id);
  const member = await createTestUser(app, { organizationId: agent.id, role: "dispatcher" });
  const operator = await createSignedInUser(app, null);
  const [markingNumber = ""] = await fillJobs(app, agent);
  const deliveries = await fillWebhooks(app, owner);
  await fillRequestLog(app, agent, owner);
  const { request, tokens } = await fillAccounts(app, { owner, operator });
  const organization = toTypedId("org", agent.id);
  return {
    app,
    agent,
    owner,
    member,
    operator,
    markingNumber,
    /** Tokens of links in mails, by page. */
    tokens,
    /** Typed IDs. */
    ids: { ...deliveries, request, organization },
  };
}

async function fillJobs(app: SharedApp, agent: TestOrganization): Promise<string[]> {
  const contractor = await app.createOrganization("contractor");
  const today = new Date().toISOString().slice(0, 10);
  const patches = [
    { normalized_status: "in_transit", recipient_name: "Harbour Pharmacy", scheduled_date: today },
    { normalized_status: "failed", failure_reason: "recipient_unavailable", scheduled_date: today },
    { normalized_status: "failed", failure_reason: "custom reason" },
    { normalized_status: "completed", weight: 12.5, piece_quantity: 3 },
    { normalized_status: "assigned", scheduled_date: "2020-01-01" },
    { instructions: "Leave at the reception, or with a neighbour if the office is closed. ".repeat(6) },
    { recipient_name: "ALongNameWithoutAnySpaceInItThatHasToBreakSomewhere".repeat(2) },
  ];
  const numbers = await app.createJobs(
    agent,
    patches.map((patch, index) => ({ patch, ...(index % 2 === 0 && { contractor }) })),
  );
  const change = { method: "PATCH", key: agent.key, body: `{ "normalized_status": "out_for_delivery" }` };
  await app.call(`/v1/jobs/by-marking/${numbers[0]}`, change);
  return numbers;
}

async function fillWebhooks(app: SharedApp, owner: SignedInTestUser) {
  await using good = await startTestReceiver({ respond: () => ({ body: `{ "taken": true }` }) });
  await using bad = await startTestReceiver({ respond: () => ({ status: 500, body: "Out of order" }) });
  const create = async (url: string): Promise<string> => {
    const { createWebhookEndpoint } = await owner.queryData(
      `mutation ($url: String!) { createWebhookEndpoint(input: { url: $url, description: "Dispatch board" }) {
        endpoint { id } userErrors { message } } }`,
      { url },
    );
    return createWebhookEndpoint.endpoint.id as string;
  };
  const test = async (endpoint: string): Promise<string> => {
    const { sendTestEvent } = await owner.queryData(
      `mutation ($endpoint: ID!) { sendTestEvent(endpointId: $endpoint) { delivery { id } } }`,
      { endpoint },
    );
    return sendTestEvent.delivery.id as string;
  };
  const endpoint = await create(good.url);
  const failing = await create(`${bad.url}/a/rather/long/path?tenant=northwind-agency-production`);
  const [delivery, failedDelivery] = [await test(endpoint), await test(failing)];
  // Simulates a day of failures.
  await app.database.query(sql`update webhook_endpoint set failing_since = now() - interval '1 day'
    where url like ${`${bad.url}%`}`);
  return { endpoint, delivery, failedDelivery };
}

/** Waits for the requests to appear, because the log is written in batches. */
async function fillRequestLog(
  app: SharedApp,
  { key }: TestOrganization,
  owner: SignedInTestUser,
): Promise<void> {
  await app.call("/v1/jobs", { key });
  await app.call("/v1/jobs/by-marking/NOWHERE", { key });
  await eventually(async () => {
    const { requestLog } = await owner.queryData("{ requestLog(first: 10) { nodes { status } } }");
    const statuses = requestLog.nodes.map(({ status }: { status: number }) => status);
    if (!statuses.includes(404)) throw new Error(`The request log only has ${statuses.join(", ")}`);
  });
}

async function fillAccounts(
  app: SharedApp,
  { owner, operator }: { owner: SignedInTestUser; operator: SignedInTestUser },
) {
  const [approved, awaitingReply, pending] = [
    await requestAccount(app, operator, "Harbour Parcels"),
    await requestAccount(app, operator, "Swift Vans"),
    await requestAccount(app, operator, "Mill Lane Couriers"),
  ];
  await operator.queryData(
    `mutation ($id: ID!) { approveAccountRequest(id: $id) { userErrors { message } } }`,
    { id: approved.id },
  );
  const question = { id: awaitingReply.id, question: "Whose jobs would you carry out?" };
  await operator.queryData(
    `mutation ($id: ID!, $question: String!) { askAccountRequestQuestion(id: $id, question: $question) { userErrors { message } } }`,
    question,
  );
  const invited = "colleague@test.example";
  await owner.queryData(
    `mutation ($email: String!) { inviteMember(input: { email: $email, role: DISPATCHER }) { userErrors { message } } }`,
    { email: invited },
  );
  await createSessionClient(app).post("/auth/password/forgotten", { email: owner.email });
  const tokens = {
    register: extractLinkToken(await waitForMail(app, approved.email, "registration"), "register"),
    invitation: extractLinkToken(await waitForMail(app, invited, "invitation"), "invitation"),
    "reset-password": extractLinkToken(
      await waitForMail(app, owner.email, "password_reset"),
      "reset-password",
    ),
    "account-request": await waitForMail(app, awaitingReply.email, "account_request_question").then((mail) =>
      extractLinkToken(mail, "account-request"),
    ),
  };
  return { request: pending.id, tokens };
}

/** Creates an agent with jobs, and a user of it. */
export async function createAgent(
  app: SharedApp,
  { role = "owner", jobs = [] }: { role?: UserRole; jobs?: readonly TestJob[] | number } = {},
) {
  const agent = await app.createOrganization("agent");
  const numbers = await app.createJobs(agent, jobs);
  return { agent, numbers, user: await createSignedInUser(app, agent.id, role) };
}

/** Requests an account at a fixed e-mail address for each name, and returns the request. */
export async function requestAccount(
  app: SharedApp,
  operator: SignedInTestUser,
  name: string,
): Promise<{ id: string; email: string }> {
  const email = `office@${name.toLowerCase().replaceAll(" ", "-")}.example`;
  const request = {
    email,
    organization_name: name,
    organization_type: "agent",
    message: "We deliver in the east.",
  };
  await createSessionClient(app).post("/auth/account-requests", request);
  await waitForMail(app, email, "account_request_received");
  const { accountRequests } = await operator.queryData(
    "{ accountRequests(first: 100) { nodes { id email } } }",
  );
  return accountRequests.nodes.find((node: { email: string }) => node.email === email);
}
