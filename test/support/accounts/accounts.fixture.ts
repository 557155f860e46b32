/** What tests of accounts share: an app, an organisation, and its users. */
import type { UserRole } from "../../../src/organizations/user.entity.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { sharedApp, type SharedApp } from "../app/shared-app.ts";
import { extractLinkToken, waitForMail } from "./mails.ts";
import { createSessionClient, createTestUser, enableTwoFactor, signIn } from "./session-client.ts";
import type { Credentials, SessionClient, TestUser, TwoFactorSetup } from "./session-client.ts";

export { VALID_PASSWORD, createSessionClient, enableTwoFactor, signIn } from "./session-client.ts";
export type { Credentials, SessionClient, TestUser } from "./session-client.ts";
export { listMailsTo, randomClientIpHeader, waitForMail } from "./mails.ts";
export { totpCode } from "./totp.ts";
export { expectData, expectFailure, expectProblems, withoutRequestId } from "../app/assertions.ts";

export const NEW_PASSWORD = "two herons wait at the weir";

export interface SecuredUser extends TestUser, TwoFactorSetup {
  browser: SessionClient;
}

/** `given`: by default the app that all files share, without a worker. */
export async function openAccounts<App extends SharedApp = SharedApp>(given?: App) {
  const app = given ?? ((await sharedApp("api")) as App);
  const agent = await app.createOrganization("agent");
  const newUser = (role: UserRole = "dispatcher", organizationId: string | null = agent.id) =>
    createTestUser(app, { organizationId, role });
  /** From another IP address each time. */
  const post = (path: string, body: object, headers = {}) =>
    createSessionClient(app).call(path, { method: "POST", body: JSON.stringify(body), headers });

  /** Returns the entries of the audit log that a user made or that concern them, oldest first. */
  const auditOf = (email: string) =>
    app.database.query<{ action: string; details: Record<string, unknown> }>(
      sql`select action, details from audit_entry where actor = ${email} or subject = ${email} order by id`,
    );

  return {
    app,
    agent,
    newUser,
    post,
    signIn: (user: Credentials) => signIn(app, user),
    trySignIn: (user: Credentials, headers = {}) => post("/auth/sign-in/email", credentialsOf(user), headers),
    isSignedIn: async (browser: SessionClient) => (await browser.get("/auth/session")).status === 200,
    /** Creates a user with two-factor authentication. */
    newSecuredUser: async (...args: Parameters<typeof newUser>): Promise<SecuredUser> => {
      const user = await newUser(...args);
      const browser = await signIn(app, user);
      return { ...user, browser, ...(await enableTwoFactor(browser, user)) };
    },
    auditOf,
    /** Only the actions. */
    actsOf: async (email: string): Promise<string[]> => (await auditOf(email)).map(({ action }) => action),
    /** Requests a link for a forgotten password and returns its token. */
    resetToken: async (email: string): Promise<string> => {
      await post("/auth/password/forgotten", { email });
      return extractLinkToken(await waitForMail(app, email, "password_reset"), "reset-password");
    },
  };
}

export const credentialsOf = ({ email, password }: Credentials): Credentials => ({ email, password });
