/** Password guessing by others must not lock a user out of their account. */
import { randomInt } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { ThrottleAttempt } from "../../src/accounts/auth/throttle.ts";
import {
  createTestUser,
  createSessionClient,
  signIn,
  type SessionClient,
  type TestUser,
} from "../support/accounts/session-client.ts";
import { ACCOUNT_ENV } from "../support/accounts/mails.ts";
import { expectData, expectFailure } from "../support/app/assertions.ts";
import { createFakeClock, DAY_MS, type FakeClock } from "../support/fake-clock.ts";
import type { ApiResponse } from "../support/app/app-instance.ts";
import { startTestApp, type TestOrganization, type TestApp } from "../support/app/app.fixture.ts";

const WRONG = "not my password";
const BROWSER_COOKIE = /__Host-waymark_browser_[0-9a-f]{16}=[^;]+/;

let app: TestApp;
let clock: FakeClock;
let agent: TestOrganization;

beforeAll(async () => {
  clock = createFakeClock();
  app = await startTestApp(ACCOUNT_ENV, { clock });
  agent = await app.createOrganization("agent");
});
afterAll(() => app[Symbol.asyncDispose]());

const newPerson = (): Promise<TestUser> => createTestUser(app, { organizationId: agent.id, role: "owner" });
const ipv4 = (): string => `10.${randomInt(256)}.${randomInt(256)}.${randomInt(1, 255)}`;

/** Returns a known browser of the account without a session. */
async function knownBrowser(person: TestUser): Promise<SessionClient> {
  const { cookie } = await signIn(app, person);
  return createSessionClient(app, BROWSER_COOKIE.exec(cookie)?.[0]);
}

function tryFrom(
  address: string,
  email: string,
  password: string,
  browser = createSessionClient(app),
): Promise<ApiResponse> {
  const body = JSON.stringify({ email, password });
  return browser.call("/auth/sign-in/email", {
    method: "POST",
    headers: { "x-forwarded-for": address },
    body,
  });
}

/** Empties a bucket, as failed attempts would. */
async function empty(bucket: ThrottleAttempt): Promise<void> {
  while (await app.accounts.throttle.tryTake(bucket)) continue;
}

/** Ten wrong passwords from one network. */
async function attackFrom(address: string, email: string): Promise<void> {
  for (let index = 0; index < 10; index += 1)
    expectFailure(await tryFrom(address, email, `${WRONG} ${index}`), 401);
  expectFailure(await tryFrom(address, email, WRONG), 429, "Too many attempts");
}

describe("ten wrong passwords from one network", () => {
  // evidence: sign-in-throttle-per-network
  it("lock only that network out of the account", async () => {
    const { email, password } = await newPerson();
    const attacker = ipv4();
    await attackFrom(attacker, email);
    expectFailure(await tryFrom(attacker, email, password), 429);
    expectData(await tryFrom(ipv4(), email, password));
  });

  // evidence: sign-in-throttle-ipv6-network
  it("count for a whole IPv6 /64", async () => {
    const { email, password } = await newPerson();
    await attackFrom("2001:db8:7:1::1", email);
    expectFailure(await tryFrom("2001:db8:7:1:ffff::2", email, password), 429);
    expectData(await tryFrom("2001:db8:7:2::1", email, password));
  });
});

describe("an account with a hundred attempts from many networks", () => {
  // evidence: sign-in-throttle-unknown-browsers
  it("returns 429 to unknown browsers, whether or not the account exists", async () => {
    const person = await newPerson();
    for (const email of [person.email, `unknown.${randomInt(1e9)}@test.example`]) {
      for (let index = 0; index < 100; index += 1)
        await app.accounts.throttle.take(["sign-in-total-account", email]);
      await empty(["sign-in-total-account", email]);
      expectFailure(await tryFrom(ipv4(), email, person.password), 429, "Too many attempts");
    }
  });
});

describe("a browser that signed in to the account before", () => {
  // evidence: sign-in-known-browser-during-attack
  it("can sign in during an attack, even from the attacker's network", async () => {
    const person = await newPerson();
    const browser = await knownBrowser(person);
    const attacker = ipv4();
    await empty(["sign-in-total-account", person.email]);
    await empty(["sign-in-address", attacker]);
    expectFailure(await tryFrom(attacker, person.email, person.password), 429);
    expectData(await tryFrom(attacker, person.email, person.password, browser));
  });

  // evidence: sign-in-known-browser-own-limit
  it("has its own limit of ten wrong passwords, which locks no other browser out", async () => {
    const person = await newPerson();
    const browser = await knownBrowser(person);
    const other = await knownBrowser(person);
    for (let index = 0; index < 10; index += 1)
      expectFailure(await tryFrom(ipv4(), person.email, WRONG, browser), 401);
    expectFailure(await tryFrom(ipv4(), person.email, person.password, browser), 429);
    expectData(await tryFrom(ipv4(), person.email, person.password, other));
  });

  it("is recognised by an HttpOnly host-only cookie for 90 days", async () => {
    const { email, password } = await newPerson();
    const answer = await tryFrom(ipv4(), email, password);
    const text = answer.headers.getSetCookie().find((one) => BROWSER_COOKIE.test(one)) ?? "";
    const [, ...attributes] = text.split("; ");
    expect(new Set(attributes)).toEqual(
      new Set(["Max-Age=7776000", "Path=/", "HttpOnly", "Secure", "SameSite=Lax"]),
    );
  });
});

describe("a browser is not known", () => {
  const cases: Record<string, (person: TestUser, known: SessionClient) => Promise<SessionClient>> = {
    "to another account": async (_person, known) => {
      const other = await knownBrowser(await newPerson());
      const [name] = known.cookie.split("=");
      return createSessionClient(app, `${name}=${other.cookie.slice(other.cookie.indexOf("=") + 1)}`);
    },
    "with a forged signature": async (_person, known) =>
      createSessionClient(app, `${known.cookie.slice(0, -12)}AAAAAAAA%3D`),
    "after the password was changed": async (person, known) => {
      const session = await signIn(app, person);
      const next = { current_password: person.password, new_password: "another heron at the weir" };
      expectData(await session.post("/auth/password/change", next));
      return known;
    },
    "after the user ended the other sessions": async (person, known) => {
      await signIn(app, person);
      expectData(await (await signIn(app, person)).call("/auth/sessions", { method: "DELETE" }));
      return known;
    },
    "after 90 days": async (_person, known) => {
      clock.advance(90 * DAY_MS);
      // Sessions that other tests start would have ended already.
      onTestFinished(() => clock.jump(-90 * DAY_MS));
      return known;
    },
  };

  it.each(Object.keys(cases))("%s", async (name) => {
    const person = await newPerson();
    const browser = await cases[name]!(person, await knownBrowser(person));
    await empty(["sign-in-total-account", person.email]);
    expectFailure(await tryFrom(ipv4(), person.email, person.password, browser), 429);
  });
});
