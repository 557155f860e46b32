/** Signing in, with a second factor where the person has one, and out again. */
import type { Afterwards } from "../platform/afterwards.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database, Queryable } from "../platform/database.ts";
import { AppError, invariant } from "../platform/errors.ts";
import { networkOf } from "../platform/network.ts";
import { systemActor } from "../platform/principal.ts";
import { sql } from "../platform/sql.ts";
import { accountEmail, normalizeEmail } from "./account.fields.ts";
import { record } from "./audit.service.ts";
import { callAuth, headersOf, wrongCredentials } from "./auth.call.ts";
import { expiredCookie, SECOND_FACTOR_COOKIE, SESSION_COOKIE, signedValue } from "./auth.cookies.ts";
import type { AuthMetrics } from "./auth.metrics.ts";
import type { Auth } from "./auth.ts";
import type { Visit } from "./auth.visit.ts";
import { MAX_PASSWORD } from "./password.rules.ts";
import { watchPassword } from "./password.watch.ts";
import type { KnownBrowsers } from "./known-browser.ts";
import type { SessionHolder } from "./session.holder.ts";
import type { Try } from "./throttle.ts";
import { checkCode, type CodeKind, type CodeParts } from "./two-factor.codes.ts";

export interface SignIn {
  /** Throws UnauthorizedException in the same words for an unknown address and a wrong password. */
  signIn(credentials: { email: string; password: string }, visit: Visit): Promise<SignedIn>;
  /** The second step, within ten minutes of the first. Throws UnauthorizedException. */
  confirmSignIn(answer: { code: string; kind: CodeKind }, visit: Visit): Promise<SignedIn>;
  /** Answers with the cookies that take the session's away. */
  signOut(holder: SessionHolder, visit: Visit): Promise<string[]>;
}

export interface SignedIn {
  readonly secondFactorRequired: boolean;
  /** `Set-Cookie` texts. */
  readonly cookies: string[];
}

export interface SignInParts extends CodeParts {
  database: Database;
  clock: Clock;
  afterwards: Afterwards;
  metrics: AuthMetrics;
  knownBrowsers: KnownBrowsers;
  /** Signs the cookies. */
  secret: string;
}

export function createSignIn(parts: SignInParts): SignIn {
  return {
    signIn: (credentials, visit) => signIn(parts, credentials, visit),
    confirmSignIn: (answer, visit) => confirmSignIn(parts, answer, visit),
    async signOut({ sessionId, actor, organizationId }, { address, requestId }) {
      await parts.database.transaction(async (tx) => {
        await tx.query(sql`delete from user_session where id = ${sessionId}::uuid`);
        await record(tx, { action: "session.closed", actor, organizationId, address, requestId });
      });
      return [expiredCookie(SESSION_COOKIE), expiredCookie(SECOND_FACTOR_COOKIE)];
    },
  };
}

async function signIn(
  parts: SignInParts,
  { email, password }: { email: string; password: string },
  visit: Visit,
): Promise<SignedIn> {
  const { auth, throttle, metrics } = parts;
  const account = normalizeEmail(email);
  const browser = await parts.knownBrowsers.find(visit.cookie, account);
  const tries: Try[] =
    browser === null
      ? [
          ["sign-in-address", visit.address],
          ["sign-in-network", `${account} ${networkOf(visit.address)}`],
        ]
      : [["sign-in-browser", browser]];
  // Successful tries cost a hash, too: this one is not given back.
  await throttle.take(...tries, [browser === null ? "sign-ins-account" : "sign-ins-known", account]);
  // Longer than any can be, or no address: not worth the work, and told for unknown addresses too.
  if (password.length > MAX_PASSWORD * 2 || !accountEmail.safeParse(account).success)
    throw wrongCredentials();
  const watched = await watchPassword(parts.database, sql`user_account.email = ${account}`);
  const called = await callAuth(() =>
    auth.api.signInEmail({
      body: { email: account, password },
      headers: headersOf(visit),
      returnHeaders: true,
    }),
  ).catch((error: unknown) => {
    if (isRefusal(error)) {
      metrics.signIns.inc({ outcome: "refused" });
      // Later, so that the answer comes as soon for an address that is known.
      parts.afterwards.run("record a refused sign-in", () => recordRefusal(parts, { email: account }, visit));
    }
    throw error;
  });
  const { result, cookies } = called;
  if (!(await watched.isUnchanged())) {
    await endOpened(parts.database, "token" in result ? { token: result.token } : { challenged: account });
    throw wrongCredentials();
  }
  await throttle.giveBack(...tries);
  if (!("token" in result)) return { secondFactorRequired: true, cookies };
  return await welcome(parts, { ...result, cookies, secondFactor: null }, visit);
}

async function confirmSignIn(
  parts: SignInParts,
  { code, kind }: { code: string; kind: CodeKind },
  visit: Visit,
): Promise<SignedIn> {
  const { auth, throttle, metrics, secret } = parts;
  const tries: Try[] = [["second-factor-address", visit.address]];
  await throttle.take(...tries);
  const userId = await challengedUser(auth, signedValue(visit.cookie, SECOND_FACTOR_COOKIE, secret));
  const watched = await watchPassword(parts.database, sql`user_account.id = ${userId}::uuid`);
  // Only what is of this step: a session that the browser has beside it is another matter.
  const cookie = visit.cookie
    ?.split(";")
    .filter((part) => part.trim().startsWith(`${SECOND_FACTOR_COOKIE}=`))
    .join(";");
  const checked = checkCode(parts, { userId, code, kind, headers: headersOf(visit, cookie) });
  const called = await checked.catch((error: unknown) => {
    if (isRefusal(error) && userId !== null) {
      metrics.signIns.inc({ outcome: "second factor refused" });
      parts.afterwards.run("record a refused code", () => recordRefusal(parts, { userId }, visit));
    }
    throw error;
  });
  const { token, user } = called.result;
  invariant(token !== undefined, "a right code makes a session");
  if (!(await watched.isUnchanged())) {
    await endOpened(parts.database, { token });
    throw wrongCredentials();
  }
  await throttle.giveBack(...tries);
  return await welcome(parts, { token, user, cookies: called.cookies, secondFactor: kind }, visit);
}

interface Welcomed {
  token: string;
  user: { id: string };
  cookies: string[];
  secondFactor: CodeKind | null;
}
interface Arrival {
  organization_id: string | null;
  suspended: boolean;
  two_factor_enabled: boolean;
  email: string;
  browser_epoch: string;
}

/** The session is there: it stays if the person may come in, and what they had in this browser before ends. */
async function welcome(
  { database, clock, metrics, knownBrowsers, secret }: SignInParts,
  { token, user, cookies, secondFactor }: Welcomed,
  visit: Visit,
): Promise<SignedIn> {
  // `for share` waits for a suspension that is not committed yet: it might have missed the session just created.
  const [row] = await database.query<Arrival>(sql`
    select organization_id, two_factor_enabled, email, browser_epoch, coalesce((select suspended_at is not null from organization
      where organization.id = organization_id for share), false) as suspended
    from user_account join user_credential on user_id = user_account.id
    where user_account.id = ${user.id}::uuid`);
  if (!row || row.suspended) {
    await endOpened(database, { token });
    throw new AppError("ForbiddenException", "The organisation is suspended");
  }
  // It was turned on while the password was compared. Who turned it on may not have seen this session, and ended it.
  if (secondFactor === null && row.two_factor_enabled) {
    await endOpened(database, { token });
    throw wrongCredentials();
  }
  const { address, requestId } = visit;
  const former = signedValue(visit.cookie, SESSION_COOKIE, secret);
  await database.transaction(async (tx) => {
    if (former !== null) await endOpened(tx, { token: former });
    const now = new Date(clock.now()).toISOString();
    await tx.query(
      sql`update user_account set last_seen_at = ${now}::timestamptz where id = ${user.id}::uuid`,
    );
    await tx.query(
      sql`update user_session set authenticated_at = ${now}::timestamptz where token = ${token}`,
    );
    await record(tx, {
      action: "session.opened",
      actor: { type: "user", id: user.id },
      organizationId: row.organization_id,
      details: { second_factor: secondFactor },
      address,
      requestId,
    });
  });
  metrics.signIns.inc({ outcome: "signed in" });
  const known = knownBrowsers.issue({ email: row.email, browserEpoch: row.browser_epoch });
  return { secondFactorRequired: false, cookies: [...cookies, known] };
}

/** A session, or the sign-ins of a person (their address) that wait for their second step. */
async function endOpened(on: Queryable, opened: { token: string } | { challenged: string }): Promise<void> {
  await on.query(
    "token" in opened
      ? sql`delete from user_session where token = ${opened.token}`
      : sql`delete from user_verification where value = (
          select id::text from user_account where email = ${opened.challenged})`,
  );
}

/** What was typed where an address belongs may be a password: only what is known is kept. */
async function recordRefusal(
  { database }: SignInParts,
  who: { email: string } | { userId: string },
  { address, requestId }: Visit,
): Promise<void> {
  const which = "email" in who ? sql`email = ${who.email}` : sql`id = ${who.userId}::uuid`;
  const [known] = await database.query<{ email: string; organization_id: string | null }>(
    sql`select email, organization_id from user_account where ${which}`,
  );
  if (!known) return;
  await record(database, {
    action: "session.refused",
    actor: systemActor,
    organizationId: known.organization_id,
    subject: known.email,
    details: { step: "email" in who ? "password" : "second_factor" },
    address,
    requestId,
  });
}

/** Whose second step it is; null where it is nobody's, or over. */
async function challengedUser(auth: Auth, challenge: string | null): Promise<string | null> {
  if (challenge === null) return null;
  const { internalAdapter } = await auth.$context;
  return (await internalAdapter.findVerificationValue(challenge))?.value ?? null;
}

function isRefusal(error: unknown): error is AppError {
  return error instanceof AppError && error.status === 401;
}
