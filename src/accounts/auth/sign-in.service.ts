/** Signs users in, with a two-factor code if they have it on, and out. */
import type { FilterQuery, InferEntity } from "@mikro-orm/postgresql";
import type { Database, Reader } from "../../core/postgres/database.ts";
import { AppError, invariant } from "../../core/errors.ts";
import { networkOf } from "../../core/network.ts";
import { systemActor } from "../../core/principal.ts";
import { recordAuditEvent } from "../../audit/api.ts";
import { User } from "../../organizations/api.ts";
import { accountEmail, normalizeEmail } from "../fields.ts";
import type { AccountContext } from "../context.ts";
import { UserCredential } from "../credential.entity.ts";
import { MAX_PASSWORD_LENGTH } from "../passwords/rules.ts";
import { UserSession, UserVerification } from "../sessions/entity.ts";
import type { SessionPrincipal } from "../sessions/session-principal.ts";
import { verifyTwoFactorCode, type TwoFactorCodeKind } from "../two-factor/verify-code.ts";
import { callBetterAuth, authHeaders, wrongCredentialsError } from "./better-auth.client.ts";
import type { BetterAuth } from "./better-auth.ts";
import { recordUserEvent, type ClientInfo } from "./client-info.ts";
import { expiredCookie, TWO_FACTOR_COOKIE, SESSION_COOKIE, readSignedCookie } from "./cookies.ts";
import { KnownBrowsers } from "./known-browser.ts";
import { selectSettledUser, selectSettledPassword } from "./sign-in.sql.ts";
import type { ThrottleAttempt } from "./throttle.ts";

export interface SignInResult {
  readonly twoFactorRequired: boolean;
  /** `Set-Cookie` texts. */
  readonly cookies: string[];
}

interface NewSession {
  token: string;
  user: { id: string };
  cookies: string[];
  twoFactorKind: TwoFactorCodeKind | null;
}

export class SignInService {
  readonly #context: AccountContext;
  readonly #knownBrowsers: KnownBrowsers;

  constructor(context: AccountContext) {
    this.#context = context;
    this.#knownBrowsers = new KnownBrowsers(context);
  }

  /** Throws the same UnauthorizedException for an unknown e-mail address and a wrong password. */
  async signIn(
    { email, password }: { email: string; password: string },
    client: ClientInfo,
  ): Promise<SignInResult> {
    const { auth, database, throttle } = this.#context;
    const normalizedEmail = normalizeEmail(email);
    const browser = await this.#knownBrowsers.find(client.cookie, normalizedEmail);
    const attempts: ThrottleAttempt[] =
      browser === null
        ? [
            ["sign-in-address", client.ipAddress],
            ["sign-in-network", `${normalizedEmail} ${networkOf(client.ipAddress)}`],
          ]
        : [["sign-in-browser", browser]];
    // Not refunded on success, as a successful attempt costs a hash too.
    await throttle.take(...attempts, [
      browser === null ? "sign-in-total-account" : "sign-in-total-known",
      normalizedEmail,
    ]);
    // Can't match any account, so it isn't worth a hash.
    if (password.length > MAX_PASSWORD_LENGTH * 2 || !accountEmail.safeParse(normalizedEmail).success)
      throw wrongCredentialsError();
    const passwordSnapshot = await snapshotPassword(database, { user: { email: normalizedEmail } });
    const { result, cookies } = await callBetterAuth(() =>
      auth.api.signInEmail({
        body: { email: normalizedEmail, password },
        headers: authHeaders(client),
        returnHeaders: true,
      }),
    ).catch((error: unknown) => {
      // In the background, so that a known e-mail address doesn't take longer to answer.
      if (isUnauthorized(error)) this.#countFailure("password", { email: normalizedEmail }, client);
      throw error;
    });
    if (!(await passwordSnapshot.isUnchanged())) {
      await revokeSignIn(
        database,
        "token" in result ? { token: result.token } : { challenged: normalizedEmail },
      );
      throw wrongCredentialsError();
    }
    await throttle.refund(...attempts);
    if (!("token" in result)) return { twoFactorRequired: true, cookies };
    return await this.#complete({ ...result, cookies, twoFactorKind: null }, client);
  }

  /** Completes a sign-in with a two-factor code, within ten minutes of the password. Throws UnauthorizedException. */
  async confirmSignIn(
    { code, kind }: { code: string; kind: TwoFactorCodeKind },
    client: ClientInfo,
  ): Promise<SignInResult> {
    const { auth, authSecret, database, throttle } = this.#context;
    const attempts: ThrottleAttempt[] = [["two-factor-address", client.ipAddress]];
    await throttle.take(...attempts);
    const challenge = readSignedCookie(client.cookie, TWO_FACTOR_COOKIE, authSecret);
    const userId = await findChallengedUser(auth, challenge);
    const passwordSnapshot = await snapshotPassword(database, { user: userId });
    // Without the browser's session cookie: the library would treat the request as coming from that session.
    const cookie = client.cookie
      ?.split(";")
      .filter((part) => part.trim().startsWith(`${TWO_FACTOR_COOKIE}=`))
      .join(";");
    const headers = authHeaders(client, cookie);
    const pendingVerification = verifyTwoFactorCode(this.#context, { userId, code, kind, headers });
    const { result, cookies } = await pendingVerification.catch((error: unknown) => {
      if (isUnauthorized(error) && userId !== null) this.#countFailure("two_factor", { id: userId }, client);
      throw error;
    });
    const { token, user } = result;
    invariant(token !== undefined, "a correct code creates a session");
    if (!(await passwordSnapshot.isUnchanged())) {
      await revokeSignIn(database, { token });
      throw wrongCredentialsError();
    }
    await throttle.refund(...attempts);
    return await this.#complete({ token, user, cookies, twoFactorKind: kind }, client);
  }

  /** Returns `Set-Cookie` texts that delete the session's cookies. */
  async signOut(principal: SessionPrincipal, client: ClientInfo): Promise<string[]> {
    await this.#context.database.transactional(async (em, tx) => {
      await em.nativeDelete(UserSession, { id: principal.sessionId });
      await recordUserEvent(tx, principal, client, { action: "session.closed" });
    });
    return [expiredCookie(SESSION_COOKIE), expiredCookie(TWO_FACTOR_COOKIE)];
  }

  /** Keeps the new session if the user may sign in, and revokes the browser's previous session. */
  async #complete(
    { token, user, cookies, twoFactorKind }: NewSession,
    client: ClientInfo,
  ): Promise<SignInResult> {
    const { authSecret, clock, database, metrics } = this.#context;
    const row = await selectSettledUser(database, user.id);
    if (!row || row.suspended) {
      await revokeSignIn(database, { token });
      throw new AppError("ForbiddenException", "The organisation is suspended");
    }
    // Two-factor was turned on while the password was verified, which may have missed this session.
    if (twoFactorKind === null && row.two_factor_enabled) {
      await revokeSignIn(database, { token });
      throw wrongCredentialsError();
    }
    const previousToken = readSignedCookie(client.cookie, SESSION_COOKIE, authSecret);
    await database.transactional(async (em, tx) => {
      if (previousToken !== null) await revokeSignIn(tx, { token: previousToken });
      const now = new Date(clock.now());
      await em.nativeUpdate(User, { id: user.id }, { lastSeenAt: now });
      await em.nativeUpdate(UserSession, { token }, { authenticatedAt: now });
      const principal = {
        actor: { type: "user", id: user.id },
        organizationId: row.organization_id,
      } as const;
      const details = { two_factor: twoFactorKind };
      await recordUserEvent(tx, principal, client, { action: "session.opened", details });
    });
    metrics.signInAttempts.inc({ outcome: "success" });
    const browserCookie = this.#knownBrowsers.issue({ email: row.email, browserEpoch: row.browser_epoch });
    return { twoFactorRequired: false, cookies: [...cookies, browserCookie] };
  }

  /** Counts a wrong password or code, and records it in the background. */
  #countFailure(
    step: "password" | "two_factor",
    account: { email: string } | { id: string },
    client: ClientInfo,
  ): void {
    const { backgroundQueue, database, metrics } = this.#context;
    metrics.signInAttempts.inc({ outcome: step === "password" ? "invalid_credentials" : "invalid_code" });
    backgroundQueue.run("record a failed sign-in", async () => {
      // Only e-mail addresses of existing accounts: users sometimes type their password into that field.
      const known = await database.em().findOne(User, account);
      if (!known) return;
      await recordAuditEvent(database, {
        action: "session.sign_in_failed",
        actor: systemActor,
        organizationId: known.organization?.id ?? null,
        subject: known.email,
        details: { step },
        ipAddress: client.ipAddress,
        requestId: client.requestId,
      });
    });
  }
}

/** Deletes a session, or a user's sign-ins that still need a two-factor code (`challenged`: the e-mail address). */
async function revokeSignIn(on: Reader, target: { token: string } | { challenged: string }): Promise<void> {
  const em = on.em();
  if ("token" in target) {
    await em.nativeDelete(UserSession, { token: target.token });
    return;
  }
  const user = await em.findOne(User, { email: target.challenged });
  if (user) await em.nativeDelete(UserVerification, { value: user.id });
}

/** Returns the user of a sign-in that needs a two-factor code; null if it is unknown or expired. */
async function findChallengedUser(auth: BetterAuth, challenge: string | null): Promise<string | null> {
  if (challenge === null) return null;
  const { internalAdapter } = await auth.$context;
  return (await internalAdapter.findVerificationValue(challenge))?.value ?? null;
}

function isUnauthorized(error: unknown): error is AppError {
  return error instanceof AppError && error.status === 401;
}

/** Detects a password change during a sign-in with the old password: verifying a hash is slow and may queue. */
interface PasswordSnapshot {
  /** Call it after creating the session. If false, the password change may have missed the session: revoke it. */
  isUnchanged(): Promise<boolean>;
}

/** `where` must match at most one user's credential. If it matches none, `isUnchanged` returns true. */
async function snapshotPassword(
  database: Database,
  where: FilterQuery<InferEntity<typeof UserCredential>>,
): Promise<PasswordSnapshot> {
  const before = await database.em().findOne(UserCredential, where);
  return {
    async isUnchanged() {
      if (!before) return true;
      // Waits for an uncommitted change. A change that starts later sees the session and revokes it.
      return (await selectSettledPassword(database, before.user.id)) === before.password;
    },
  };
}
