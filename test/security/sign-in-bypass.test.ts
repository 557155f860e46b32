/** Attempts to bypass two-factor authentication, to send extra form fields and to forge log lines. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createLogger } from "../../src/core/logger.ts";
import { sql } from "../../src/core/postgres/sql.ts";
import {
  VALID_PASSWORD,
  createTestUser,
  createSessionClient,
  signIn,
  enableTwoFactor,
} from "../support/accounts/session-client.ts";
import {
  ACCOUNT_ENV,
  waitForMail,
  randomClientIpHeader,
  extractLinkToken,
} from "../support/accounts/mails.ts";
import { expectData } from "../support/app/assertions.ts";
import { queryData } from "../support/graphql/client.ts";
import type { ApiResponse } from "../support/app/app-instance.ts";
import { sendRawRequest } from "../support/app/raw-http-client.ts";
import { startTestApp, type TestOrganization, type TestApp } from "../support/app/app.fixture.ts";

const NEW_PASSWORD = "a kestrel over the motorway";

let app: TestApp;
let agent: TestOrganization;
let written = "";

beforeAll(async () => {
  const logger = createLogger("info", { write: (line) => (written += line) });
  app = await startTestApp(ACCOUNT_ENV, { logger });
  agent = await app.createOrganization("agent");
});
afterAll(() => app[Symbol.asyncDispose]());

function post(path: string, body: object): Promise<ApiResponse> {
  return createSessionClient(app).call(path, {
    method: "POST",
    body: JSON.stringify(body),
    headers: randomClientIpHeader(),
  });
}

describe("a password reset", () => {
  // evidence: password-reset-keeps-two-factor
  it("does not bypass two-factor authentication", async () => {
    const person = await createTestUser(app, { organizationId: agent.id, role: "owner" });
    const browser = await signIn(app, person);
    await enableTwoFactor(browser, person);
    await post("/auth/password/forgotten", { email: person.email });
    const token = extractLinkToken(await waitForMail(app, person.email, "password_reset"), "reset-password");
    expectData(await post("/auth/password/reset", { token, password: NEW_PASSWORD }));
    const thief = createSessionClient(app);
    const { email } = person;
    const signedIn = expectData(await thief.post("/auth/sign-in/email", { email, password: NEW_PASSWORD }));
    expect(signedIn).toEqual({ two_factor_required: true });
    expect((await thief.get("/auth/session")).status).toBe(401);
  });
});

describe("account forms", () => {
  // evidence: account-forms-reject-extra-fields
  it("ignore a role, organisation or e-mail address that the form does not have", async () => {
    const other = await app.createOrganization("contractor");
    const greedy = {
      role: "operator",
      organization_id: null,
      organizationId: other.id,
      scopes: ["jobs:read", "jobs:write", "webhooks:manage"],
      email_verified: true,
      id: "00000000-0000-7000-8000-000000000001",
    };
    const owner = await signIn(app, await createTestUser(app, { organizationId: agent.id, role: "owner" }));
    const email = "greedy@test.example";
    const invite =
      "mutation ($email: String!) { inviteMember(input: { email: $email }) { userErrors { code } } }";
    await queryData(app, invite, {
      headers: { cookie: owner.cookie, origin: app.url },
      variables: { email },
    });
    const token = extractLinkToken(await waitForMail(app, email, "invitation"), "invitation");
    const accepted = {
      token,
      name: "Greedy",
      password: VALID_PASSWORD,
      email: "boss@test.example",
      ...greedy,
    };
    expectData(await post("/auth/links/accept", accepted));
    const browser = createSessionClient(app);
    expectData(await browser.post("/auth/sign-in/email", { email, password: VALID_PASSWORD, ...greedy }));
    await browser.send("PATCH", "/auth/profile", { name: "Greedy", ...greedy });
    const { user, organization } = expectData(await browser.get("/auth/session"));
    expect({ role: user.role, email: user.email }).toEqual({ role: "dispatcher", email });
    expect(organization.name).toBe(agent.name);
    const [row] = await app.database.query<{ count: number }>(
      sql`select count(*)::int as count from user_account where email = 'boss@test.example' or role = 'operator'`,
    );
    expect(row?.count).toBe(0);
  });
});

describe("the server log", () => {
  // evidence: log-injection-escaped
  it("escapes line breaks in request values", async () => {
    const forged = '{"level":"info","msg":"forged"}';
    const hostile = `x%0a${encodeURIComponent(forged)}%0d%0a\u2028`;
    await sendRawRequest(app.url, `/v1/jobs?q=${encodeURI(hostile)}`, {
      headers: {
        "user-agent": `a\tb ${forged}`,
        "x-request-id": forged,
        "x-api-key": forged,
        ...randomClientIpHeader(),
      },
    });
    await post("/auth/sign-in/email", { email: `a\n${forged}@x`, password: `\r\n${forged}` });
    const lines = written.trimEnd().split("\n");
    for (const line of lines) expect(JSON.parse(line)).toHaveProperty("time");
    expect(written).not.toContain("forged");
  });
});
