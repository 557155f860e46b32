/** Password guessing by others must not lock a user out of their account. */
import { randomInt } from "node:crypto";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import type { ThrottleAttempt } from "../../src/accounts/auth/throttle.ts";
import * as accounts from "../support/accounts/accounts.fixture.ts";
import { ACCOUNT_ENV } from "../support/accounts/mails.ts";
import { startTestApp } from "../support/app/app.fixture.ts";
import { createFakeClock, DAY_MS } from "../support/fake-clock.ts";

const { NEW_PASSWORD, createSessionClient, credentialsOf, expectData, expectFailure } = accounts;
type Browser = accounts.SessionClient;

const WRONG = "not my password";
const BROWSER_COOKIE = /__Host-waymark_browser_[0-9a-f]{16}=[^;]+/;

const clock = createFakeClock();
const { app, newUser, signIn } = await accounts.openAccounts(await startTestApp(ACCOUNT_ENV, { clock }));
afterAll(() => app[Symbol.asyncDispose]());

const ipv4 = (): string => `10.${randomInt(256)}.${randomInt(256)}.${randomInt(1, 255)}`;

/** Returns a known browser of the account without a session. */
async function knownBrowser(user: accounts.Credentials): Promise<Browser> {
  return createSessionClient(app, BROWSER_COOKIE.exec((await signIn(user)).cookie)?.[0]);
}

function tryFrom(address: string, user: accounts.Credentials, browser = createSessionClient(app)) {
  const headers = { "x-forwarded-for": address };
  const body = JSON.stringify(credentialsOf(user));
  return browser.call("/auth/sign-in/email", { method: "POST", headers, body });
}

/** Empties a bucket, as failed attempts would. */
async function empty(bucket: ThrottleAttempt): Promise<void> {
  while (await app.accounts.throttle.tryTake(bucket)) continue;
}

/** Ten wrong passwords. */
async function attack(from: () => string, { email }: accounts.Credentials, browser?: Browser): Promise<void> {
  for (let index = 0; index < 10; index += 1)
    expectFailure(await tryFrom(from(), { email, password: `${WRONG} ${index}` }, browser), 401);
}

// evidence: sign-in-throttle-per-network, sign-in-throttle-ipv6-network
it.each([
  ["an IPv4 address", "10.1.2.3", "10.1.2.3", "10.1.2.4"],
  ["an IPv6 /64", "2001:db8:7:1::1", "2001:db8:7:1:ffff::2", "2001:db8:7:2::1"],
])(
  "ten wrong passwords from one network lock only that network out of the account: %s",
  async (_, attacker, same, other) => {
    const user = await newUser();
    await attack(() => attacker, user);
    expectFailure(await tryFrom(same, user), 429, "Too many attempts");
    expectData(await tryFrom(other, user));
  },
);

// evidence: sign-in-throttle-unknown-browsers
it("an account with a hundred attempts from many networks returns 429 to unknown browsers, whether or not the account exists", async () => {
  const user = await newUser();
  for (const email of [user.email, `unknown.${user.email}`]) {
    for (let index = 0; index < 100; index += 1)
      await app.accounts.throttle.take(["sign-in-total-account", email]);
    await empty(["sign-in-total-account", email]);
    expectFailure(await tryFrom(ipv4(), { ...user, email }), 429, "Too many attempts");
  }
});

describe("a browser that signed in to the account before", () => {
  // evidence: sign-in-known-browser-during-attack
  it("can sign in during an attack, even from the attacker's network", async () => {
    const user = await newUser();
    const [browser, attacker] = [await knownBrowser(user), ipv4()];
    await empty(["sign-in-total-account", user.email]);
    await empty(["sign-in-address", attacker]);
    expectFailure(await tryFrom(attacker, user), 429);
    expectData(await tryFrom(attacker, user, browser));
  });

  // evidence: sign-in-known-browser-own-limit
  it("has its own limit of ten wrong passwords, which locks no other browser out", async () => {
    const user = await newUser();
    const [browser, other] = [await knownBrowser(user), await knownBrowser(user)];
    await attack(ipv4, user, browser);
    expectFailure(await tryFrom(ipv4(), user, browser), 429);
    expectData(await tryFrom(ipv4(), user, other));
  });

  it("is recognised by an HttpOnly host-only cookie for 90 days", async () => {
    const answer = await tryFrom(ipv4(), await newUser());
    const text = answer.headers.getSetCookie().find((one) => BROWSER_COOKIE.test(one)) ?? "";
    expect(new Set(text.split("; ").slice(1))).toEqual(
      new Set(["Max-Age=7776000", "Path=/", "HttpOnly", "Secure", "SameSite=Lax"]),
    );
  });
});

describe("a browser is not known", () => {
  const cases: Record<string, (user: accounts.TestUser, known: Browser) => Promise<Browser>> = {
    "to another account": async (_user, { cookie }) => {
      const other = await knownBrowser(await newUser());
      return createSessionClient(app, `${cookie.split("=")[0]}=${other.cookie.split("=")[1]}`);
    },
    "with a forged signature": async (_user, { cookie }) =>
      createSessionClient(app, `${cookie.slice(0, -12)}AAAAAAAA%3D`),
    "after the password was changed": async (user, known) => {
      const next = { current_password: user.password, new_password: NEW_PASSWORD };
      expectData(await (await signIn(user)).post("/auth/password/change", next));
      return known;
    },
    "after the user ended the other sessions": async (user, known) => {
      expectData(await (await signIn(user)).call("/auth/sessions", { method: "DELETE" }));
      return known;
    },
    "after 90 days": async (_user, known) => {
      clock.advance(90 * DAY_MS);
      // Sessions that other tests start would have ended already.
      onTestFinished(() => clock.jump(-90 * DAY_MS));
      return known;
    },
  };

  it.each(Object.entries(cases))("%s", async (_name, prepare) => {
    const user = await newUser();
    const browser = await prepare(user, await knownBrowser(user));
    await empty(["sign-in-total-account", user.email]);
    expectFailure(await tryFrom(ipv4(), user, browser), 429);
  });
});
