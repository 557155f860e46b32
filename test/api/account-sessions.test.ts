import { afterAll, describe, expect, it } from "vitest";
import { sql } from "../../src/core/postgres/sql.ts";
import * as accounts from "../support/accounts/accounts.fixture.ts";
import { startAppInstance } from "../support/app/app-instance.ts";
import { createFakeClock, MINUTE_MS, SECOND_MS } from "../support/fake-clock.ts";

const { createSessionClient, credentialsOf, expectData, expectFailure, expectProblems } = accounts;
const { app, newUser, signIn, isSignedIn } = await accounts.openAccounts();

const clock = createFakeClock();
/** Without TRUST_PROXY. */
const direct = await startAppInstance(app.databaseUrl, { WAYMARK_ROLE: "api" }, { clock });
afterAll(() => direct[Symbol.asyncDispose]());

const idOf = async (browser: accounts.SessionClient): Promise<string> =>
  expectData(await browser.get("/auth/session")).session_id;

describe("GET /auth/sessions", () => {
  // evidence: session-list
  it("lists the user's sessions with the IP address that the proxy forwards and the browser, and marks the current one", async () => {
    const user = await newUser();
    const [own, other] = [await signIn(user), createSessionClient(app)];
    const headers = { "user-agent": "Heron/1.0 \u00e9 (weir)", "x-forwarded-for": "203.0.113.9" };
    const body = JSON.stringify(credentialsOf(user));
    expectData(await other.call("/auth/sign-in/email", { method: "POST", body, headers }));
    await signIn(await newUser());
    const sessions: { id: string; current: boolean }[] = expectData(await own.get("/auth/sessions"));
    expect(sessions.filter(({ current }) => current).map(({ id }) => id)).toEqual([await idOf(own)]);
    expect(sessions.filter(({ current }) => !current)).toEqual([
      {
        id: await idOf(other),
        current: false,
        created_at: expect.stringMatching(/Z$/),
        last_seen_at: expect.stringMatching(/Z$/),
        ip_address: "203.0.113.9",
        user_agent: "Heron/1.0  (weir)",
        expires_at: expect.stringMatching(/Z$/),
      },
    ]);
  });

  it("ignores forwarding headers unless TRUST_PROXY is set", async () => {
    const browser = createSessionClient(direct);
    const headers = { "x-forwarded-for": "203.0.113.9", "x-waymark-client-ip": "203.0.113.9" };
    const body = JSON.stringify(credentialsOf(await newUser()));
    expectData(await browser.call("/auth/sign-in/email", { method: "POST", body, headers }));
    expect(expectData(await browser.get("/auth/sessions"))).toMatchObject([{ ip_address: "127.0.0.1" }]);
  });

  it("shows the last use of a session and of the user, from the first request on, at most once a minute", async () => {
    const user = await newUser();
    const browser = await accounts.signIn(direct, user);
    const seen = async () => {
      const [row] = await app.database.query<{ session: string; account: string }>(sql`
        select to_json(session.last_seen_at) as session, to_json(account.last_seen_at) as account
        from user_session session join user_account account on account.id = session.user_id
        where account.id = ${user.id}`);
      return { session: Date.parse(row!.session), account: Date.parse(row!.account) };
    };
    const use = async () => (await idOf(browser), await seen());
    const startMs = clock.now();
    expect(await use()).toEqual({ session: startMs, account: startMs });
    clock.advance(MINUTE_MS - 1);
    expect(await use()).toEqual({ session: startMs, account: startMs });
    clock.advance(1);
    expect(await use()).toEqual({ session: startMs + MINUTE_MS, account: startMs + MINUTE_MS });
    clock.advance(30 * SECOND_MS);
    expect((await use()).session).toBe(startMs + MINUTE_MS);
  });
});

describe("DELETE /auth/sessions", () => {
  // evidence: session-end-others, session-end-one
  it("ends one session, or all but the current one, immediately", async () => {
    const user = await newUser();
    const [own, one, two, three] = await Promise.all([1, 2, 3, 4].map(() => signIn(user)));
    expectData(await own!.send("DELETE", `/auth/sessions/${await idOf(one!)}`));
    expect([await isSignedIn(one!), await isSignedIn(two!)]).toEqual([false, true]);
    expect(expectData(await own!.send("DELETE", "/auth/sessions"))).toEqual({ ended: 2 });
    for (const ended of [two!, three!]) expect(await isSignedIn(ended)).toBe(false);
    expect(expectData(await own!.get("/auth/sessions"))).toHaveLength(1);
  });

  // evidence: sessions-isolated-per-user
  it("returns the same 404 for another user's session and an unknown one", async () => {
    const [own, outsider] = [await signIn(await newUser()), await signIn(await newUser())];
    for (const id of [await idOf(outsider), "00000000-0000-7000-8000-000000000000", "nonsense", "%00"])
      expectFailure(await own.send("DELETE", `/auth/sessions/${id}`), 404, "You have no such session");
    expect(await isSignedIn(outsider)).toBe(true);
  });
});

describe("PATCH /auth/profile", () => {
  // evidence: profile-update-fields-exact
  it("changes the name, and ignores all other fields", async () => {
    const { email, ...user } = await newUser();
    const browser = await signIn({ ...user, email });
    const body = { name: "  A Heron ", role: "operator", email: "x@test.example", organization_id: null };
    expectData(await browser.send("PATCH", "/auth/profile", body));
    const session = expectData(await browser.get("/auth/session"));
    expect(session.user).toMatchObject({ name: "A Heron", role: "dispatcher", email });
  });

  it.each([{}, { name: "" }, { name: "x".repeat(121) }, { name: "a\nb" }, { name: 1 }])(
    "returns 400 for %j",
    async (body) => {
      const browser = await signIn(await newUser());
      expectProblems(await browser.send("PATCH", "/auth/profile", body), "body", ["name"]);
    },
  );
});
