/** A service in use, so that no page of the console is empty: jobs, webhooks that fare well and ill, people, requests, mails. */
import { vi } from "vitest";
import { sql } from "../../src/platform/sql.ts";
import { makePerson, openBrowser, type Person } from "./account.ts";
import { ACCOUNT_ENV, mailOf, tokenIn } from "./account-mails.ts";
import { newPerson, type SignedIn } from "./graphql-person.ts";
import { startTestApp, type Partner, type TestApp } from "./start-app.ts";
import { startReceiver } from "./webhook-receiver.ts";

export interface ConsoleWorld extends AsyncDisposable {
  readonly app: TestApp;
  readonly agent: Partner;
  readonly owner: SignedIn;
  readonly member: Person;
  readonly operator: SignedIn;
  readonly markingNumber: string;
  /** Typed ids. */
  readonly ids: {
    endpoint: string;
    delivery: string;
    failedDelivery: string;
    request: string;
    organization: string;
  };
  /** Of the links in mails, by the page that they lead to. */
  readonly tokens: Record<"register" | "invitation" | "reset-password" | "account-request", string>;
}

export async function buildConsoleWorld(): Promise<ConsoleWorld> {
  await using opened = new AsyncDisposableStack();
  const app = opened.use(
    await startTestApp({ ...ACCOUNT_ENV, LOG_LEVEL: "silent", WEBHOOK_ALLOW_PRIVATE: "on" }),
  );
  const agent = await app.partner("agent");
  const owner = await newPerson(app, agent.id);
  const member = await makePerson(app, { organizationId: agent.id, role: "member" });
  const operator = await newPerson(app, null);
  const [markingNumber = ""] = await fillJobs(app, agent);
  const { endpoint, delivery, failedDelivery } = await fillWebhooks(app, owner, opened);
  await fillRequestLog(app, agent, owner);
  const { request, tokens } = await fillPeople(app, { owner, operator });
  const { organizations } = await operator.ask(
    `{ organizations(search: "agent ", first: 1) { nodes { id } } }`,
  );
  const held = opened.move();
  return {
    app,
    agent,
    owner,
    member,
    operator,
    markingNumber,
    tokens,
    ids: { endpoint, delivery, failedDelivery, request, organization: organizations.nodes[0].id },
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

async function fillJobs(app: TestApp, agent: Partner): Promise<string[]> {
  const contractor = await app.partner("contractor");
  const today = new Date().toISOString().slice(0, 10);
  const patches = [
    { normalized_status: "in_transit", recipient_name: "Harbour Pharmacy", scheduled_date: today },
    { normalized_status: "failed", failure_reason: "recipient_unavailable", scheduled_date: today },
    { normalized_status: "failed", failure_reason: "a reason of their own" },
    { normalized_status: "completed", weight: 12.5, piece_quantity: 3 },
    { normalized_status: "assigned", scheduled_date: "2020-01-01" },
    { instructions: "Leave at the reception, or where there is none: with whoever opens. ".repeat(6) },
    { recipient_name: "ALongNameWithoutAnySpaceInItThatHasToBreakSomewhere".repeat(2) },
  ];
  const numbers = await app.jobs(
    agent,
    patches.map((patch, at) => ({ patch, ...(at % 2 === 0 && { contractor }) })),
  );
  const change = { method: "PATCH", key: agent.key, body: `{ "normalized_status": "out_for_delivery" }` };
  await app.call(`/v1/jobs/by-marking/${numbers[0]}`, change);
  return numbers;
}

async function fillWebhooks(app: TestApp, owner: SignedIn, opened: AsyncDisposableStack) {
  const good = opened.use(await startReceiver({ respond: () => ({ body: `{ "taken": true }` }) }));
  const bad = opened.use(await startReceiver({ respond: () => ({ status: 500, body: "Out of order" }) }));
  const create = async (url: string): Promise<string> => {
    const { createWebhookEndpoint } = await owner.ask(
      `mutation ($url: String!) { createWebhookEndpoint(input: { url: $url, description: "Dispatch board" }) {
        endpoint { id } userErrors { message } } }`,
      { url },
    );
    return createWebhookEndpoint.endpoint.id as string;
  };
  const test = async (endpoint: string): Promise<string> => {
    const { sendTestEvent } = await owner.ask(
      `mutation ($endpoint: ID!) { sendTestEvent(endpointId: $endpoint) { delivery { id } } }`,
      { endpoint },
    );
    return sendTestEvent.delivery.id as string;
  };
  const endpoint = await create(good.url);
  const failing = await create(`${bad.url}/a/rather/long/path?tenant=northwind-agency-production`);
  const [delivery, failedDelivery] = [await test(endpoint), await test(failing)];
  // What a day of failures would bring.
  await app.database.query(sql`update webhook_endpoint set failing_since = now() - interval '1 day'
    where url like ${`${bad.url}%`}`);
  return { endpoint, delivery, failedDelivery };
}

/** The log is written in batches. */
async function fillRequestLog(app: TestApp, { key }: Partner, owner: SignedIn): Promise<void> {
  await app.call("/v1/jobs", { key });
  await app.call("/v1/jobs/by-marking/NOWHERE", { key });
  await vi.waitFor(
    async () => {
      const { requestLog } = await owner.ask("{ requestLog(first: 10) { nodes { status } } }");
      const statuses = requestLog.nodes.map(({ status }: { status: number }) => status);
      if (!statuses.includes(404)) throw new Error(`The log has ${statuses.join(", ")} only`);
    },
    { timeout: 20_000, interval: 50 },
  );
}

async function fillPeople(app: TestApp, { owner, operator }: { owner: SignedIn; operator: SignedIn }) {
  const [approved, asked, pending] = [
    await requestAccount(app, operator, "Harbour Parcels"),
    await requestAccount(app, operator, "Swift Vans"),
    await requestAccount(app, operator, "Mill Lane Couriers"),
  ];
  await operator.ask(
    `mutation ($id: ID!) { approveAccountRequest(id: $id) { userErrors { message } } }`,
    approved,
  );
  const question = { id: asked.id, question: "Whose jobs would you carry out?" };
  await operator.ask(
    `mutation ($id: ID!, $question: String!) { askAccountRequest(id: $id, question: $question) { userErrors { message } } }`,
    question,
  );
  const invited = "colleague@test.example";
  await owner.ask(
    `mutation ($email: String!) { inviteMember(input: { email: $email, role: MEMBER }) { userErrors { message } } }`,
    { email: invited },
  );
  await openBrowser(app).post("/auth/password/forgotten", { email: owner.email });
  const tokens = {
    register: tokenIn(await mailOf(app, approved.email, "registration"), "register"),
    invitation: tokenIn(await mailOf(app, invited, "invitation"), "invitation"),
    "reset-password": tokenIn(await mailOf(app, owner.email, "password_reset"), "reset-password"),
    "account-request": await mailOf(app, asked.email, "account_request_question").then((mail) =>
      tokenIn(mail, "account-request"),
    ),
  };
  return { request: pending.id, tokens };
}

async function requestAccount(
  app: TestApp,
  operator: SignedIn,
  name: string,
): Promise<{ id: string; email: string }> {
  const email = `office@${name.toLowerCase().replaceAll(" ", "-")}.example`;
  const request = {
    email,
    organization_name: name,
    organization_type: "agent",
    message: "We deliver in the east.",
  };
  await openBrowser(app).post("/auth/account-requests", request);
  await mailOf(app, email, "account_request_received");
  const { accountRequests } = await operator.ask("{ accountRequests(first: 100) { nodes { id email } } }");
  return accountRequests.nodes.find((one: { email: string }) => one.email === email);
}
