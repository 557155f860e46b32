/** Accepting an invitation with single sign-on, in place of a password. */
import { describe, expect, it } from "vitest";
import { inviteOperator } from "../../src/accounts/invitations/service.ts";
import { NO_SOURCE } from "../../src/audit/api.ts";
import { systemClock } from "../../src/core/clock.ts";
import { systemActor } from "../../src/core/principal.ts";
import * as accounts from "../support/accounts/accounts.fixture.ts";
import { openAccountRequestFixture } from "../support/accounts/account-request.fixture.ts";
import { extractLinkToken } from "../support/accounts/mails.ts";
import { inviteMember, signInUser } from "../support/accounts/signed-in-user.ts";
import { begin, type Claimed, newDomain, openSsoFixture, REMOVE } from "../support/accounts/sso.fixture.ts";

const { createSessionClient, expectData, expectFailure, waitForMail, VALID_PASSWORD } = accounts;
const sso = await openSsoFixture();
const { actsOf } = await accounts.openAccounts();

type Connected = Awaited<ReturnType<typeof sso.connect>>;

const invite = ({ owner, domain }: Connected, at = domain) =>
  inviteMember(sso.shared, owner, { email: `${newDomain().slice(0, 10)}@${at}`, role: "VIEWER" });

/** Invites a new operator as the command line does. */
async function invitedOperator(): Promise<{ email: string; token: string }> {
  const deps = { database: sso.shared.database, clock: systemClock, pageUrl: (path: string) => path };
  const email = `${newDomain().slice(0, 10)}@${newDomain()}`;
  const { url } = await inviteOperator(deps, { ...NO_SOURCE, actor: systemActor }, email);
  return { email, token: url.slice(url.indexOf("=") + 1) };
}

const check = async (token: string, app = sso.app) =>
  await createSessionClient(app).post("/auth/links/check", { token });
const offerFor = async (token: string, app = sso.app) => expectData(await check(token, app)).single_sign_on;

/** Accepts the invitation as the person whom the provider signs in. Returns where the browser is sent. */
async function accept(token: string, person: Claimed) {
  const browser = createSessionClient(sso.app);
  const start = await begin(browser, { provider: "invitation", token });
  return { browser, start, location: await sso.answer(browser, start, person) };
}

const accountsOf = async (email: string) =>
  (await actsOf(email)).filter((action) => action.startsWith("member"));

describe("an invitation", () => {
  it("is accepted by a sign-in with the invited e-mail address, which needs no password", async () => {
    const { email, token } = await invite(await sso.connect());
    const { browser, start, location } = await accept(token, { sub: "i1", email: email.toUpperCase() });
    expect([location, start.searchParams.get("login_hint")]).toEqual(["/", email]);
    expect(expectData(await browser.get("/auth/session")).user).toMatchObject({
      email,
      role: "viewer",
      name: email.split("@")[0],
      by_sso: true,
    });
    expect(await actsOf(email)).toEqual(["member.joined", "session.opened"]);
    expectFailure(await check(token), 404);
    expect((await sso.ssoSignIn({ sub: "i1", email })).location).toBe("/jobs?x=1");
  });

  it("gives the user the name at the provider, and lets them choose a password later", async () => {
    const { email, token } = await invite(await sso.connect());
    const { browser } = await accept(token, { email, name: "Ada Byron" } as Claimed);
    expect(expectData(await browser.get("/auth/session")).user.name).toBe("Ada Byron");
    await createSessionClient(sso.app).post("/auth/password/forgotten", { email });
    const reset = extractLinkToken(await waitForMail(sso.shared, email, "password_reset"), "reset-password");
    const body = { token: reset, password: VALID_PASSWORD };
    expectData(await createSessionClient(sso.app).post("/auth/password/reset", body));
    await accounts.signIn(sso.app, { email, password: VALID_PASSWORD });
  });

  it.each<[string, (member: accounts.TestUser) => Partial<Claimed>, string]>([
    ["another e-mail address", () => ({ email: "someone.else@test.example" }), "sso_wrong_account"],
    ["a member's own e-mail address", ({ email }) => ({ email }), "sso_wrong_account"],
    ["an unverified e-mail address", () => ({ email_verified: false }), "sso_email_unverified"],
    ["the subject of another account", () => ({ sub: "linked" }), "sso_wrong_account"],
  ])("is refused to %s, and stays valid", async (_title, personOf, code) => {
    const connected = await sso.connect();
    const linked = await sso.userOf(connected.organization.id, "dispatcher", connected.domain);
    await sso.ssoSignIn({ sub: "linked", email: linked.email });
    const { email, token } = await invite(connected);
    const { browser, location } = await accept(token, { email, ...personOf(connected.member) });
    expect(location).toBe(`/sign-in?error=${code}`);
    expectFailure(await browser.get("/auth/session"), 401);
    expect(await accountsOf(email)).toEqual([]);
    expect((await accept(token, { email })).location).toBe("/");
  });

  it("is accepted once", async () => {
    const { email, token } = await invite(await sso.connect());
    const [browser, other] = [createSessionClient(sso.app), createSessionClient(sso.app)];
    const [first, second] = [
      await begin(browser, { provider: "invitation", token }),
      await begin(other, { provider: "invitation", token }),
    ];
    expect(await sso.answer(browser, first, { sub: "i1", email })).toBe("/");
    expect(await sso.answer(other, second, { sub: "i1", email })).toBe("/sign-in?error=sso_expired");
  });

  it("is not accepted without its link", async () => {
    const { email } = await invite(await sso.connect());
    expect((await sso.ssoSignIn({ email })).location).toBe("/sign-in?error=sso_refused");
  });

  it("offers single sign-on in the connection's domain only, and requires it with SSO_ONLY", async () => {
    const connected = await sso.connect();
    const { token } = await invite(connected);
    expect([await offerFor(token), await offerFor(token, sso.strict)]).toEqual(["offered", "required"]);
    const external = await invite(connected, newDomain());
    expect([await offerFor(external.token), await offerFor(external.token, sso.strict)]).toEqual([
      null,
      null,
    ]);
    const start = { provider: "invitation", token: external.token };
    expectFailure(await createSessionClient(sso.app).post("/auth/sign-in/social", start), 404);
    expectFailure(
      await createSessionClient(sso.app).post("/auth/sign-in/social", { ...start, token: "x" }),
      404,
    );
  });

  it("to the operators is accepted with OIDC_ISSUER", async () => {
    const { email, token } = await invitedOperator();
    expect([await offerFor(token), await offerFor(token, sso.strict)]).toEqual(["offered", "required"]);
    const { browser, location } = await accept(token, { email });
    expect(location).toBe("/");
    expect(expectData(await browser.get("/auth/session")).user.role).toBe("operator");
  });

  it("to the operators is refused without the claim that they need", async () => {
    const { email, token } = await invitedOperator();
    sso.idp.serve([`${sso.strict.url}/auth/callback/operators`]);
    sso.idp.person = { sub: email, email, email_verified: true, groups: ["drivers"] };
    const browser = createSessionClient(sso.strict);
    const start = await begin(browser, { provider: "invitation", token });
    expect(await sso.answerAsProvider(browser, start)).toBe("/sign-in?error=sso_refused");
    expect(await offerFor(token)).toBe("offered");
  });
});

it("the first owner of an organisation chooses a password also with SSO_ONLY=all, which signs in until the e-mail domain is proven, and after the removal", async () => {
  const requests = await openAccountRequestFixture();
  const domain = newDomain();
  const email = `owner@${domain}`;
  const { token } = await requests.approve({ email });
  expect(await offerFor(token, sso.strict)).toBeNull();
  const person = { token, name: "Ada", password: VALID_PASSWORD };
  expectData(await createSessionClient(sso.strict).post("/auth/links/accept", person));
  const credentials = { email, password: VALID_PASSWORD };
  const owner = await signInUser(sso.app, { ...credentials, id: "", name: "Ada" });
  await sso.proveDomain(owner, domain);
  const attempt = () => createSessionClient(sso.strict).post("/auth/sign-in/email", credentials);
  expectFailure(await attempt(), 403, "single sign-on");
  await owner.queryData(REMOVE);
  expectData(await attempt());
});
