/** Attempts to bypass two-factor authentication, to send extra form fields and to forge log lines. */
import { afterAll, expect, it } from "vitest";
import { createLogger } from "../../src/core/logger.ts";
import { sql } from "../../src/core/postgres/sql.ts";
import * as accounts from "../support/accounts/accounts.fixture.ts";
import { ACCOUNT_ENV } from "../support/accounts/mails.ts";
import { createSignedInUser, inviteMember } from "../support/accounts/signed-in-user.ts";
import { startTestApp } from "../support/app/app.fixture.ts";
import { sendRawRequest } from "../support/app/raw-http-client.ts";

const { NEW_PASSWORD, VALID_PASSWORD, createSessionClient, expectData, randomClientIpHeader } = accounts;

let written = "";
const logger = createLogger("info", { write: (line) => (written += line) });
const rig = await accounts.openAccounts(await startTestApp(ACCOUNT_ENV, { logger }));
const { app, agent, post } = rig;
afterAll(() => app[Symbol.asyncDispose]());

// evidence: password-reset-keeps-two-factor
it("a password reset does not bypass two-factor authentication", async () => {
  const { email } = await rig.newSecuredUser("owner");
  const token = await rig.resetToken(email);
  expectData(await post("/auth/password/reset", { token, password: NEW_PASSWORD }));
  const thief = createSessionClient(app);
  const answer = await thief.post("/auth/sign-in/email", { email, password: NEW_PASSWORD });
  expect(expectData(answer)).toMatchObject({ twoFactorRedirect: true });
  expect(await rig.isSignedIn(thief)).toBe(false);
});

// evidence: account-forms-reject-extra-fields
it("account forms ignore a role, organisation or e-mail address that the form does not have", async () => {
  const greedy = {
    role: "operator",
    organization_id: null,
    organizationId: (await app.createOrganization("contractor")).id,
    scopes: ["jobs:read", "jobs:write", "webhooks:manage"],
    email_verified: true,
    id: "00000000-0000-7000-8000-000000000001",
  };
  const email = "greedy@test.example";
  const owner = await createSignedInUser(app, agent.id);
  const { token } = await inviteMember(app, owner, { email });
  const accepted = { token, name: "Greedy", password: VALID_PASSWORD, email: "boss@test.example" };
  expectData(await post("/auth/links/accept", { ...accepted, ...greedy }));
  const browser = createSessionClient(app);
  expectData(await browser.post("/auth/sign-in/email", { email, password: VALID_PASSWORD, ...greedy }));
  await browser.send("PATCH", "/auth/profile", { name: "Greedy", ...greedy });
  expect(expectData(await browser.get("/auth/session"))).toMatchObject({
    user: { role: "dispatcher", email },
    organization: { name: agent.name },
  });
  const others = sql`select from user_account where email = 'boss@test.example' or role = 'operator'`;
  expect(await app.database.query(others)).toEqual([]);
});

// evidence: log-injection-escaped
it("the server log escapes line breaks in request values", async () => {
  const forged = '{"level":"info","msg":"forged"}';
  const hostile = `x%0a${encodeURIComponent(forged)}%0d%0a\u2028`;
  const headers = { "user-agent": `a\tb ${forged}`, "x-request-id": forged, "x-api-key": forged };
  await sendRawRequest(app.url, `/v1/jobs?q=${encodeURI(hostile)}`, {
    headers: { ...headers, ...randomClientIpHeader() },
  });
  await post("/auth/sign-in/email", { email: `a\n${forged}@x`, password: `\r\n${forged}` });
  const lines = written.trimEnd().split("\n");
  for (const line of lines) expect(JSON.parse(line)).toHaveProperty("time");
  expect(written).not.toContain("forged");
});
