/** Ways around the sign-in, and into what a form does not ask for. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createLogger } from "../../src/platform/logger.ts";
import { sql } from "../../src/platform/sql.ts";
import { GOOD_PASSWORD, makePerson, openBrowser, signIn, turnOnSecondFactor } from "../support/account.ts";
import { ACCOUNT_ENV, mailOf, somewhere, tokenIn } from "../support/account-mails.ts";
import { expectData } from "../support/answers.ts";
import { ask } from "../support/graphql.ts";
import type { Answer } from "../support/instance.ts";
import { callExactly } from "../support/raw-http.ts";
import { startTestApp, type Partner, type TestApp } from "../support/start-app.ts";

const NEW_PASSWORD = "a kestrel over the motorway";

let app: TestApp;
let agent: Partner;
let written = "";

beforeAll(async () => {
  const logger = createLogger("info", { write: (line) => (written += line) });
  app = await startTestApp(ACCOUNT_ENV, { logger });
  agent = await app.partner("agent");
});
afterAll(() => app[Symbol.asyncDispose]());

function post(path: string, body: object): Promise<Answer> {
  return openBrowser(app).call(path, { method: "POST", body: JSON.stringify(body), headers: somewhere() });
}

describe("a password by mail", () => {
  // evidence: password-reset-keeps-two-factor
  it("asks who has a new password by mail for their second factor all the same", async () => {
    const person = await makePerson(app, { organizationId: agent.id, role: "owner" });
    const browser = await signIn(app, person);
    await turnOnSecondFactor(browser, person);
    await post("/auth/password/forgotten", { email: person.email });
    const token = tokenIn(await mailOf(app, person.email, "password_reset"), "reset-password");
    expectData(await post("/auth/password/reset", { token, password: NEW_PASSWORD }));
    const thief = openBrowser(app);
    const { email } = person;
    const signedIn = expectData(await thief.post("/auth/sign-in", { email, password: NEW_PASSWORD }));
    expect(signedIn).toEqual({ second_factor_required: true });
    expect((await thief.get("/auth/session")).status).toBe(401);
  });
});

describe("a form", () => {
  // evidence: account-forms-reject-extra-fields
  it("gives nobody a role, an organisation or an address that the form does not ask for", async () => {
    const other = await app.partner("contractor");
    const greedy = {
      role: "operator",
      organization_id: null,
      organizationId: other.id,
      scopes: ["jobs:read", "jobs:write", "webhooks:manage"],
      email_verified: true,
      id: "00000000-0000-7000-8000-000000000001",
    };
    const owner = await signIn(app, await makePerson(app, { organizationId: agent.id, role: "owner" }));
    const email = "greedy@test.example";
    const invite =
      "mutation ($email: String!) { inviteMember(input: { email: $email }) { userErrors { code } } }";
    await ask(app, invite, { headers: { cookie: owner.cookie, origin: app.url }, variables: { email } });
    const token = tokenIn(await mailOf(app, email, "invitation"), "invitation");
    const accepted = {
      token,
      name: "Greedy",
      password: GOOD_PASSWORD,
      email: "boss@test.example",
      ...greedy,
    };
    expectData(await post("/auth/links/accept", accepted));
    const browser = openBrowser(app);
    expectData(await browser.post("/auth/sign-in", { email, password: GOOD_PASSWORD, ...greedy }));
    await browser.send("PATCH", "/auth/profile", { name: "Greedy", ...greedy });
    const { user, organization } = expectData(await browser.get("/auth/session"));
    expect({ role: user.role, email: user.email }).toEqual({ role: "member", email });
    expect(organization.name).toBe(agent.name);
    const [row] = await app.database.query<{ count: number }>(
      sql`select count(*)::int as count from user_account where email = 'boss@test.example' or role = 'operator'`,
    );
    expect(row?.count).toBe(0);
  });
});

describe("the log", () => {
  // evidence: log-injection-escaped
  it("writes no second line into the log, whatever a request holds", async () => {
    const forged = '{"level":"info","msg":"forged"}';
    const hostile = `x%0a${encodeURIComponent(forged)}%0d%0a\u2028`;
    await callExactly(app.url, `/v1/jobs?q=${encodeURI(hostile)}`, {
      headers: {
        "user-agent": `a\tb ${forged}`,
        "x-request-id": forged,
        "x-api-key": forged,
        ...somewhere(),
      },
    });
    await post("/auth/sign-in", { email: `a\n${forged}@x`, password: `\r\n${forged}` });
    const lines = written.trimEnd().split("\n");
    for (const line of lines) expect(JSON.parse(line)).toHaveProperty("time");
    expect(written).not.toContain("forged");
  });
});
