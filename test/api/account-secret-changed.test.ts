/** Two-factor authentication after WAYMARK_SECRET has changed. */
import { Writable } from "node:stream";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createLogger } from "../../src/core/logger.ts";
import * as accounts from "../support/accounts/accounts.fixture.ts";
import { ACCOUNT_ENV } from "../support/accounts/mails.ts";
import { startAppInstance, type AppInstance } from "../support/app/app-instance.ts";

const { createSessionClient, credentialsOf, enableTwoFactor, expectData, expectFailure, totpCode } = accounts;
const { app, newUser, newSecuredUser, signIn } = await accounts.openAccounts();

const lines: string[] = [];
/** A process on the same database, with another secret. */
let after: AppInstance;
beforeAll(async () => {
  const stream = new Writable({ write: (chunk, _encoding, done) => done(void lines.push(String(chunk))) });
  const settings = { ...ACCOUNT_ENV, WAYMARK_SECRET: Buffer.alloc(32, "another").toString("base64") };
  after = await startAppInstance(app.databaseUrl, settings, { logger: createLogger("warn", stream) });
});
afterAll(() => after[Symbol.asyncDispose]());

it("entering a code of either kind and finishing a set-up explain the problem, and the log reports it once", async () => {
  const user = await newSecuredUser();
  const halfway = createSessionClient(after);
  expectData(await halfway.post("/auth/sign-in/email", credentialsOf(user)));
  for (const [kind, code] of [
    ["totp", totpCode(user.uri, 1)],
    ["backup-code", user.recoveryCodes[0]],
    ["totp", "000000"],
  ]) {
    const refused = await halfway.post(`/auth/two-factor/verify-${kind}`, { code });
    expect(expectFailure(refused, 409, "secret has changed").message).toContain("operators of the service");
    expect(refused.headers.getSetCookie()).toEqual([]);
  }

  // A set-up that was not finished can be started again.
  const { password, ...unfinished } = await newUser();
  const before = await signIn({ ...unfinished, password });
  const { totpURI: uri } = expectData(await before.post("/auth/two-factor/enable", { password }));
  const browser = await accounts.signIn(after, { ...unfinished, password });
  const confirmed = await browser.post("/auth/two-factor/verify-totp", { code: totpCode(uri) });
  expectFailure(confirmed, 409, "secret has changed");
  await enableTwoFactor(browser, { password });

  const errors = lines.filter((line) => line.includes("WAYMARK_SECRET"));
  expect(errors).toEqual([expect.stringContaining("waymark user reset-two-factor")]);
  expect(lines.join("")).not.toContain(user.email);
  expect(lines).toEqual(errors);
});
