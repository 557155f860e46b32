import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sql } from "../../src/core/postgres/sql.ts";
import {
  createTestUser,
  createSessionClient,
  signIn,
  type SessionClient,
  type TestUser,
} from "../support/accounts/session-client.ts";
import { expectData, expectFailure, expectProblems } from "../support/app/assertions.ts";
import { createFakeClock, MINUTE_MS, SECOND_MS, type FakeClock } from "../support/fake-clock.ts";
import { startAppInstance, type AppInstance } from "../support/app/app-instance.ts";
import type { TestOrganization } from "../support/app/app.fixture.ts";
import { sharedApp, type SharedApp } from "../support/app/shared-app.ts";

let app: SharedApp;
/** Without TRUST_PROXY. */
let direct: AppInstance;
let clock: FakeClock;
let agent: TestOrganization;

beforeAll(async () => {
  clock = createFakeClock();
  app = await sharedApp("api");
  direct = await startAppInstance(app.databaseUrl, { WAYMARK_ROLE: "api" }, { clock });
  agent = await app.createOrganization("agent");
});
afterAll(() => direct[Symbol.asyncDispose]());

function newPerson(): Promise<TestUser> {
  return createTestUser(app, { organizationId: agent.id, role: "dispatcher" });
}

async function idOf(browser: SessionClient): Promise<string> {
  return expectData(await browser.get("/auth/session")).session_id;
}

describe("GET /auth/sessions", () => {
  // evidence: session-list
  it("lists the user's sessions with the IP address that the proxy forwards and the browser, and marks the current one", async () => {
    const person = await newPerson();
    const [own, other] = [await signIn(app, person), createSessionClient(app)];
    const body = JSON.stringify({ email: person.email, password: person.password });
    const headers = { "user-agent": "Heron/1.0 \u00e9 (weir)", "x-forwarded-for": "203.0.113.9" };
    expectData(await other.call("/auth/sign-in/email", { method: "POST", body, headers }));
    await signIn(app, await newPerson());
    const sessions = expectData(await own.get("/auth/sessions"));
    expect(new Set(sessions.map(({ id }: { id: string }) => id))).toEqual(
      new Set([await idOf(own), await idOf(other)]),
    );
    const ofOther = sessions.find(({ current }: { current: boolean }) => !current);
    expect(ofOther).toEqual({
      id: await idOf(other),
      current: false,
      created_at: expect.stringMatching(/Z$/),
      last_seen_at: expect.stringMatching(/Z$/),
      ip_address: "203.0.113.9",
      user_agent: "Heron/1.0  (weir)",
      expires_at: expect.stringMatching(/Z$/),
    });
  });

  it("ignores forwarding headers unless TRUST_PROXY is set", async () => {
    const person = await newPerson();
    const browser = createSessionClient(direct);
    const body = JSON.stringify({ email: person.email, password: person.password });
    const headers = { "x-forwarded-for": "203.0.113.9", "x-waymark-client-ip": "203.0.113.9" };
    expectData(await browser.call("/auth/sign-in/email", { method: "POST", body, headers }));
    const [session] = expectData(await browser.get("/auth/sessions"));
    expect(session.ip_address).toBe("127.0.0.1");
  });

  it("shows the last use of a session and of the user, at most once a minute", async () => {
    const person = await newPerson();
    const browser = await signIn(direct, person);
    const seen = async () => {
      const [row] = await app.database.query<{ session: string; person: string }>(sql`
        select to_json(session.last_seen_at) as session, to_json(person.last_seen_at) as person
        from user_session session join user_account person on person.id = session.user_id
        where person.id = ${person.id}`);
      return { session: Date.parse(row!.session), person: Date.parse(row!.person) };
    };
    const signedIn = await seen();
    const begun = signedIn.session;
    clock.advance(begun - clock.now() + MINUTE_MS - 1);
    await idOf(browser);
    expect(await seen()).toEqual(signedIn);
    clock.advance(1);
    await idOf(browser);
    expect(await seen()).toEqual({ session: begun + MINUTE_MS, person: begun + MINUTE_MS });
    clock.advance(30 * SECOND_MS);
    await idOf(browser);
    expect((await seen()).session).toBe(begun + MINUTE_MS);
  });
});

describe("DELETE /auth/sessions", () => {
  // evidence: session-end-others
  it("ends all other sessions immediately", async () => {
    const person = await newPerson();
    const [own, ...others] = [
      await signIn(app, person),
      await signIn(app, person),
      await signIn(app, person),
    ];
    expect(expectData(await own.send("DELETE", "/auth/sessions"))).toEqual({ ended: 2 });
    for (const other of others) expectFailure(await other.get("/auth/session"), 401);
    expect(expectData(await own.get("/auth/sessions"))).toHaveLength(1);
  });

  // evidence: session-end-one
  it("ends one session", async () => {
    const person = await newPerson();
    const [own, other] = [await signIn(app, person), await signIn(app, person)];
    expectData(await own.send("DELETE", `/auth/sessions/${await idOf(other)}`));
    expectFailure(await other.get("/auth/session"), 401);
    expectData(await own.get("/auth/session"));
  });

  // evidence: sessions-isolated-per-user
  it("returns the same 404 for another user's session and an unknown one", async () => {
    const [own, outsider] = [await signIn(app, await newPerson()), await signIn(app, await newPerson())];
    const ids = [await idOf(outsider), "00000000-0000-7000-8000-000000000000", "nonsense", "%00"];
    for (const id of ids)
      expectFailure(await own.send("DELETE", `/auth/sessions/${id}`), 404, "You have no such session");
    expectData(await outsider.get("/auth/session"));
  });

  it("returns 401 without a session", async () => {
    const browser = createSessionClient(app);
    expectFailure(await browser.get("/auth/sessions"), 401);
    expectFailure(await browser.send("DELETE", "/auth/sessions"), 401);
    expectFailure(await browser.send("DELETE", "/auth/sessions/00000000-0000-7000-8000-000000000000"), 401);
  });
});

describe("PATCH /auth/profile", () => {
  it("changes the name", async () => {
    const browser = await signIn(app, await newPerson());
    expectData(await browser.send("PATCH", "/auth/profile", { name: "  A Heron " }));
    expect(expectData(await browser.get("/auth/session")).user.name).toBe("A Heron");
  });

  it.each([{}, { name: "" }, { name: "x".repeat(121) }, { name: "a\nb" }, { name: 1 }])(
    "returns 400 for %j",
    async (body) => {
      const browser = await signIn(app, await newPerson());
      expectProblems(await browser.send("PATCH", "/auth/profile", body), "body", ["name"]);
    },
  );

  // evidence: profile-update-fields-exact
  it("ignores all other fields", async () => {
    const person = await newPerson();
    const browser = await signIn(app, person);
    const body = { name: "A Heron", role: "operator", email: "x@test.example", organization_id: null };
    expectData(await browser.send("PATCH", "/auth/profile", body));
    expect(expectData(await browser.get("/auth/session")).user).toMatchObject({
      role: "dispatcher",
      email: person.email,
    });
  });
});
