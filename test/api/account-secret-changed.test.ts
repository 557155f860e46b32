/** Two-factor authentication after WAYMARK_SECRET has changed. */
import { Writable } from "node:stream";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createLogger } from "../../src/core/logger.ts";
import {
  createTestUser,
  createSessionClient,
  signIn,
  type SessionClient,
  type TestUser,
  enableTwoFactor,
} from "../support/accounts/session-client.ts";
import { expectData, expectFailure } from "../support/app/assertions.ts";
import { startAppInstance, type AppInstance } from "../support/app/app-instance.ts";
import type { TestOrganization } from "../support/app/app.fixture.ts";
import { sharedApp, type SharedApp } from "../support/app/shared-app.ts";
import { ACCOUNT_ENV } from "../support/accounts/mails.ts";
import { totpCode } from "../support/accounts/totp.ts";

const lines: string[] = [];
let before: SharedApp;
/** A process on the same database, with another secret. */
let after: AppInstance;
let agent: TestOrganization;

beforeAll(async () => {
  before = await sharedApp("api");
  agent = await before.createOrganization("agent");
  const stream = new Writable({ write: (chunk, _encoding, done) => done(void lines.push(String(chunk))) });
  const settings = { ...ACCOUNT_ENV, WAYMARK_SECRET: Buffer.alloc(32, "another").toString("base64") };
  after = await startAppInstance(before.databaseUrl, settings, { logger: createLogger("warn", stream) });
});
afterAll(() => after[Symbol.asyncDispose]());

interface Begun extends TestUser {
  browser: SessionClient;
  uri: string;
}

async function begun(): Promise<Begun> {
  const person = await createTestUser(before, { organizationId: agent.id, role: "dispatcher" });
  const browser = await signIn(before, person);
  const { password } = person;
  const { totp_uri: uri } = expectData(await browser.post("/auth/two-factor/begin", { password }));
  return { ...person, browser, uri };
}

it("entering a code of either kind and finishing a set-up explain the problem, and the log reports it once", async () => {
  const person = await begun();
  const { email, password } = person;
  const confirmed = await person.browser.post("/auth/two-factor/confirm", { code: totpCode(person.uri) });
  const [recoveryCode = ""] = expectData(confirmed).recovery_codes;

  const halfway = createSessionClient(after);
  expectData(await halfway.post("/auth/sign-in/email", { email, password }));
  const entered = [
    { code: totpCode(person.uri, 1), kind: "totp" },
    { code: recoveryCode, kind: "recovery_code" },
    { code: "000000", kind: "totp" },
  ];
  for (const answer of entered) {
    const refused = await halfway.post("/auth/two-factor", answer);
    expectFailure(refused, 409, "secret has changed");
    expect(refused.body.error?.message).toContain("operators of the service");
    expect(refused.headers.getSetCookie()).toEqual([]);
  }

  // A set-up that was not finished can be started again.
  const unfinished = await begun();
  const browser = await signIn(after, unfinished);
  expectFailure(
    await browser.post("/auth/two-factor/confirm", { code: totpCode(unfinished.uri) }),
    409,
    "secret has changed",
  );
  await enableTwoFactor(browser, unfinished);

  const errors = lines.filter((line) => line.includes("WAYMARK_SECRET"));
  expect(errors).toHaveLength(1);
  expect(errors[0]).toContain("waymark user reset-two-factor");
  expect(lines.join("")).not.toContain(email);
  expect(lines).toEqual(errors);
});
