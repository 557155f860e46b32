/** Signs users in, with a two-factor code if they have it on, and out. */
import type { BackgroundQueue } from "../../platform/concurrency/background-queue.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Database, Queryable } from "../../platform/postgres/database.ts";
import { AppError, invariant } from "../../platform/errors.ts";
import { networkOf } from "../../platform/network.ts";
import { systemActor } from "../../platform/principal.ts";
import { sql } from "../../platform/postgres/sql.ts";
import { accountEmail, normalizeEmail } from "../account.fields.ts";
import { recordAuditEvent } from "../../audit/api.ts";
import { callBetterAuth, authHeaders, wrongCredentialsError } from "./better-auth.client.ts";
import { expiredCookie, TWO_FACTOR_COOKIE, SESSION_COOKIE, readSignedCookie } from "./cookies.ts";
import type { AuthMetrics } from "./metrics.ts";
import type { BetterAuth } from "./better-auth.ts";
import type { ClientInfo } from "./client-info.ts";
import { MAX_PASSWORD_LENGTH } from "../passwords/rules.ts";
import { snapshotPassword } from "../passwords/race-guard.ts";
import type { KnownBrowsers } from "./known-browser.ts";
import type { SessionPrincipal } from "../sessions/principal.ts";
import type { ThrottleAttempt } from "./throttle.ts";
import { verifyTwoFactorCode, type TwoFactorCodeKind, type CodeCheckDeps } from "../two-factor/codes.ts";

export interface SignInService {
  /** Throws the same UnauthorizedException for an unknown e-mail address and a wrong password. */
  signIn(credentials: { email: string; password: string }, client: ClientInfo): Promise<SignInResult>;
  /** Completes a sign-in with a two-factor code, within ten minutes of the password. Throws UnauthorizedException. */
  confirmSignIn(answer: { code: string; kind: TwoFactorCodeKind }, client: ClientInfo): Promise<SignInResult>;
  /** Returns `Set-Cookie` texts that delete the session's cookies. */
  signOut(principal: SessionPrincipal, client: ClientInfo): Promise<string[]>;
}

export interface SignInResult {
  readonly twoFactorRequired: boolean;
  /** `Set-Cookie` texts. */
  readonly cookies: string[];
}

export interface SignInDeps extends CodeCheckDeps {
  database: Database;
  clock: Clock;
  backgroundQueue: BackgroundQueue;
  metrics: AuthMetrics;
  knownBrowsers: KnownBrowsers;
  /** Signs the cookies. */
  secret: string;
}

export function createSignInService(deps: SignInDeps): SignInService {
  return {
    signIn: (credentials, client) => signIn(deps, credentials, client),
    confirmSignIn: (answer, client) => confirmSignIn(deps, answer, client),
    async signOut({ sessionId, actor, organizationId }, { address, requestId }) {
      await deps.database.transaction(async (tx) => {
        await tx.query(sql`delete from user_session where id = ${sessionId}::uuid`);
        await recordAuditEvent(tx, { action: "session.closed", actor, organizationId, address, requestId });
      });
      return [expiredCookie(SESSION_COOKIE), expiredCookie(TWO_FACTOR_COOKIE)];
    },
  };
}

async function signIn(
  deps: SignInDeps,
  { email, password }: { email: string; password: string },
  client: ClientInfo,
): Promise<SignInResult> {
  const { auth, throttle, metrics } = deps;
  const normalizedEmail = normalizeEmail(email);
  const browser = await deps.knownBrowsers.find(client.cookie, normalizedEmail);
  const attempts: ThrottleAttempt[] =
    browser === null
      ? [
          ["sign-in-address", client.address],
          ["sign-in-network", `${normalizedEmail} ${networkOf(client.address)}`],
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
  const passwordSnapshot = await snapshotPassword(
    deps.database,
    sql`user_account.email = ${normalizedEmail}`,
  );
  const signInResult = await callBetterAuth(() =>
    auth.api.signInEmail({
      body: { email: normalizedEmail, password },
      headers: authHeaders(client),
      returnHeaders: true,
    }),
  ).catch((error: unknown) => {
    if (isUnauthorized(error)) {
      metrics.signInAttempts.inc({ outcome: "invalid_credentials" });
      // In the background, so that a known e-mail address doesn't take longer to answer.
      deps.backgroundQueue.run("record a failed sign-in", () =>
        recordFailedSignIn(deps, { email: normalizedEmail }, client),
      );
    }
    throw error;
  });
  const { result, cookies } = signInResult;
  if (!(await passwordSnapshot.isUnchanged())) {
    await revokeSignIn(
      deps.database,
      "token" in result ? { token: result.token } : { challenged: normalizedEmail },
    );
    throw wrongCredentialsError();
  }
  await throttle.refund(...attempts);
  if (!("token" in result)) return { twoFactorRequired: true, cookies };
  return await completeSignIn(deps, { ...result, cookies, twoFactorKind: null }, client);
}

async function confirmSignIn(
  deps: SignInDeps,
  { code, kind }: { code: string; kind: TwoFactorCodeKind },
  client: ClientInfo,
): Promise<SignInResult> {
  const { auth, throttle, metrics, secret } = deps;
  const attempts: ThrottleAttempt[] = [["two-factor-address", client.address]];
  await throttle.take(...attempts);
  const userId = await pendingUserId(auth, readSignedCookie(client.cookie, TWO_FACTOR_COOKIE, secret));
  const passwordSnapshot = await snapshotPassword(deps.database, sql`user_account.id = ${userId}::uuid`);
  // Without the browser's session cookie: the library would treat the request as coming from that session.
  const cookie = client.cookie
    ?.split(";")
    .filter((part) => part.trim().startsWith(`${TWO_FACTOR_COOKIE}=`))
    .join(";");
  const pendingVerification = verifyTwoFactorCode(deps, {
    userId,
    code,
    kind,
    headers: authHeaders(client, cookie),
  });
  const verification = await pendingVerification.catch((error: unknown) => {
    if (isUnauthorized(error) && userId !== null) {
      metrics.signInAttempts.inc({ outcome: "invalid_code" });
      deps.backgroundQueue.run("record a wrong code", () => recordFailedSignIn(deps, { userId }, client));
    }
    throw error;
  });
  const { token, user } = verification.result;
  invariant(token !== undefined, "a correct code creates a session");
  if (!(await passwordSnapshot.isUnchanged())) {
    await revokeSignIn(deps.database, { token });
    throw wrongCredentialsError();
  }
  await throttle.refund(...attempts);
  return await completeSignIn(
    deps,
    { token, user, cookies: verification.cookies, twoFactorKind: kind },
    client,
  );
}

interface NewSession {
  token: string;
  user: { id: string };
  cookies: string[];
  twoFactorKind: TwoFactorCodeKind | null;
}
interface SignInRow {
  organization_id: string | null;
  suspended: boolean;
  two_factor_enabled: boolean;
  email: string;
  browser_epoch: string;
}

/** Keeps the new session if the user may sign in, and revokes the browser's previous session. */
async function completeSignIn(
  { database, clock, metrics, knownBrowsers, secret }: SignInDeps,
  { token, user, cookies, twoFactorKind }: NewSession,
  client: ClientInfo,
): Promise<SignInResult> {
  // `for share` waits for a suspension that is not committed yet: it might have missed the session just created.
  const [row] = await database.query<SignInRow>(sql`
    select organization_id, two_factor_enabled, email, browser_epoch, coalesce((select suspended_at is not null from organization
      where organization.id = organization_id for share), false) as suspended
    from user_account join user_credential on user_id = user_account.id
    where user_account.id = ${user.id}::uuid`);
  if (!row || row.suspended) {
    await revokeSignIn(database, { token });
    throw new AppError("ForbiddenException", "The organisation is suspended");
  }
  // Two-factor was turned on while the password was verified, which may have missed this session.
  if (twoFactorKind === null && row.two_factor_enabled) {
    await revokeSignIn(database, { token });
    throw wrongCredentialsError();
  }
  const { address, requestId } = client;
  const previousToken = readSignedCookie(client.cookie, SESSION_COOKIE, secret);
  await database.transaction(async (tx) => {
    if (previousToken !== null) await revokeSignIn(tx, { token: previousToken });
    const now = new Date(clock.now()).toISOString();
    await tx.query(
      sql`update user_account set last_seen_at = ${now}::timestamptz where id = ${user.id}::uuid`,
    );
    await tx.query(
      sql`update user_session set authenticated_at = ${now}::timestamptz where token = ${token}`,
    );
    await recordAuditEvent(tx, {
      action: "session.opened",
      actor: { type: "user", id: user.id },
      organizationId: row.organization_id,
      details: { two_factor: twoFactorKind },
      address,
      requestId,
    });
  });
  metrics.signInAttempts.inc({ outcome: "success" });
  const browserCookie = knownBrowsers.issue({ email: row.email, browserEpoch: row.browser_epoch });
  return { twoFactorRequired: false, cookies: [...cookies, browserCookie] };
}

/** Deletes a session, or a user's sign-ins that still need a two-factor code (`challenged`: the e-mail address). */
async function revokeSignIn(
  on: Queryable,
  target: { token: string } | { challenged: string },
): Promise<void> {
  await on.query(
    "token" in target
      ? sql`delete from user_session where token = ${target.token}`
      : sql`delete from user_verification where value = (
          select id::text from user_account where email = ${target.challenged})`,
  );
}

/** Records only e-mail addresses of existing accounts: users sometimes type their password into that field. */
async function recordFailedSignIn(
  { database }: SignInDeps,
  account: { email: string } | { userId: string },
  { address, requestId }: ClientInfo,
): Promise<void> {
  const condition = "email" in account ? sql`email = ${account.email}` : sql`id = ${account.userId}::uuid`;
  const [known] = await database.query<{ email: string; organization_id: string | null }>(
    sql`select email, organization_id from user_account where ${condition}`,
  );
  if (!known) return;
  await recordAuditEvent(database, {
    action: "session.sign_in_failed",
    actor: systemActor,
    organizationId: known.organization_id,
    subject: known.email,
    details: { step: "email" in account ? "password" : "two_factor" },
    address,
    requestId,
  });
}

/** Returns the user of a sign-in that needs a two-factor code; null if it is unknown or expired. */
async function pendingUserId(auth: BetterAuth, challenge: string | null): Promise<string | null> {
  if (challenge === null) return null;
  const { internalAdapter } = await auth.$context;
  return (await internalAdapter.findVerificationValue(challenge))?.value ?? null;
}

function isUnauthorized(error: unknown): error is AppError {
  return error instanceof AppError && error.status === 401;
}
