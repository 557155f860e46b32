/** Verifies, changes and resets users' passwords. */
import type { MailService } from "../../mail/api.ts";
import type { BackgroundQueue } from "../../platform/concurrency/background-queue.ts";
import type { Database, Transaction } from "../../platform/postgres/database.ts";
import { AppError } from "../../platform/errors.ts";
import { systemActor } from "../../platform/principal.ts";
import { sql } from "../../platform/postgres/sql.ts";
import { wrongPasswordError } from "../auth/better-auth.client.ts";
import type { ClientInfo } from "../auth/client-info.ts";
import { recordAuditEvent } from "../../audit/api.ts";
import { invalidEmailToken, type EmailTokenService } from "../email-token.service.ts";
import type { PasswordHasher } from "./hasher.ts";
import { FORGOTTEN_PASSWORD_PATH, passwordChangedMail, passwordResetMail } from "./mails.ts";
import { checkPassword } from "./rules.ts";
import type { SessionPrincipal } from "../sessions/principal.ts";
import type { Throttle } from "../auth/throttle.ts";
import type { UserService } from "../user.service.ts";

export interface PasswordService {
  /** For actions that require the password again. Throws BadRequestException for `field`, and TooManyRequestsException. */
  verifyPassword(userId: string, password: string, field?: string): Promise<void>;
  /** Revokes the user's other sessions. */
  changePassword(
    principal: SessionPrincipal,
    change: { current: string; next: string },
    client: ClientInfo,
  ): Promise<void>;
  /**
   * Mails a reset link if the e-mail address has an account. Resolves before the look-up, so that the response and its
   * timing don't reveal whether it has one.
   */
  forgotPassword(email: string, client: ClientInfo): Promise<void>;
  /** Revokes all of the user's sessions. Throws NotFoundException for an invalid link. */
  resetPassword(reset: { token: string; password: string }, client: ClientInfo): Promise<void>;
}

export interface PasswordDeps {
  database: Database;
  hasher: PasswordHasher;
  users: UserService;
  emailTokens: EmailTokenService;
  mails: Pick<MailService, "enqueue">;
  throttle: Throttle;
  backgroundQueue: BackgroundQueue;
  /** Returns the URL of a console page, such as `https://api.example.com/sign-in`. */
  pageUrl: (path: string) => string;
}

const RESET_LIFETIME_MS = 3_600_000;

export function createPasswordService(deps: PasswordDeps): PasswordService {
  const { database, users, throttle, backgroundQueue } = deps;

  const verifyPassword: PasswordService["verifyPassword"] = async (userId, password, field) => {
    await throttle.take(["password-account", userId]);
    if (!(await users.verifyPasswordHash(database, userId, password))) throw wrongPasswordError(field);
    await throttle.refund(["password-account", userId]);
  };

  return {
    verifyPassword,

    async changePassword({ user, sessionId, organizationId, actor }, { current, next }, client) {
      checkPassword(next, user.email, "new_password");
      await verifyPassword(user.id, current, "current_password");
      const hash = await deps.hasher.hash(next);
      await database.transaction(async (tx) => {
        const sessionsEnded = await replacePassword(deps, tx, { ...user, hash, exceptSessionId: sessionId });
        await assertSessionExists(tx, sessionId);
        const details = { sessions_ended: sessionsEnded };
        await recordAuditEvent(tx, {
          action: "password.changed",
          actor,
          organizationId,
          details,
          ...auditSourceOf(client),
        });
      });
    },

    async forgotPassword(email, client) {
      await throttle.take(["form-address", client.address]);
      backgroundQueue.run("forgotten password", () => sendResetLink(deps, email, client));
    },

    resetPassword: (reset, client) => resetPassword(deps, reset, client),
  };
}

async function resetPassword(
  deps: PasswordDeps,
  { token, password }: { token: string; password: string },
  client: ClientInfo,
): Promise<void> {
  const { database, emailTokens, throttle } = deps;
  await throttle.take(["link-address", client.address]);
  const tokenDetails = await emailTokens.check(token);
  if (tokenDetails.kind !== "password_reset") throw invalidEmailToken();
  // Before the link is used up, so that the user can try another password.
  checkPassword(password, tokenDetails.email);
  const hash = await deps.hasher.hash(password);
  await database.transaction(async (tx) => {
    const { subjectId: id, email } = await emailTokens.consume(tx, token, "password_reset");
    const user = await findUser(tx, sql`id = ${id}::uuid`);
    if (!user) throw invalidEmailToken();
    const sessionsEnded = await replacePassword(deps, tx, { id, email, hash });
    await recordAuditEvent(tx, {
      action: "password.reset",
      actor: { type: "user", id },
      organizationId: user.organization_id,
      details: { sessions_ended: sessionsEnded },
      ...auditSourceOf(client),
    });
  });
}

interface PasswordReplacement {
  /** The user's uuid. */
  id: string;
  email: string;
  hash: string;
  exceptSessionId?: string;
}

/** Stores the new password, ends what the old one opened and mails the user. Returns the number of revoked sessions. */
async function replacePassword(
  { users, emailTokens, mails, pageUrl }: PasswordDeps,
  tx: Transaction,
  { id, email, hash, exceptSessionId }: PasswordReplacement,
): Promise<number> {
  // A reset link from before could replace the new password. Locks the token first, as resetPassword does, to avoid deadlocks.
  await emailTokens.revoke(tx, { kind: "password_reset", subjectId: id });
  const changed = await tx.query(sql`
    update user_credential set password = ${hash}, updated_at = now() where user_id = ${id}::uuid returning id`);
  if (changed.length === 0) throw new AppError("UnauthorizedException", "This account no longer exists");
  // Sign-ins that still need a two-factor code.
  await tx.query(sql`delete from user_verification where value = ${id}`);
  await mails.enqueue(tx, passwordChangedMail(email, pageUrl(FORGOTTEN_PASSWORD_PATH)));
  return await users.revokeSessions(tx, id, { id: exceptSessionId });
}

/** Call it with the credential locked: a concurrent password change has then already deleted the session. */
async function assertSessionExists(tx: Transaction, id: string): Promise<void> {
  if ((await tx.query(sql`select from user_session where id = ${id}::uuid`)).length > 0) return;
  throw new AppError("UnauthorizedException", "You are not signed in, or your session has ended");
}

async function sendResetLink(deps: PasswordDeps, email: string, client: ClientInfo): Promise<void> {
  const { database, emailTokens, mails, throttle, pageUrl } = deps;
  const user = await findUser(database, sql`email = ${email}`);
  // Limited per account, so that others can't flood the user's mailbox.
  if (!user || !(await throttle.tryTake(["reset-account", email]))) return;
  await database.transaction(async (tx) => {
    const link = {
      kind: "password_reset",
      subjectId: user.id,
      email,
      lifetimeMs: RESET_LIFETIME_MS,
    } as const;
    const token = await emailTokens.issue(tx, link);
    await mails.enqueue(tx, passwordResetMail(email, pageUrl(`/reset-password#token=${token}`)));
    await recordAuditEvent(tx, {
      action: "password.forgotten",
      actor: systemActor,
      organizationId: user.organization_id,
      subject: email,
      ...auditSourceOf(client),
    });
  });
}

async function findUser(
  on: Pick<Database, "query">,
  condition: ReturnType<typeof sql>,
): Promise<{ id: string; organization_id: string | null } | null> {
  const [user] = await on.query<{ id: string; organization_id: string | null }>(
    sql`select id, organization_id from user_account where ${condition}`,
  );
  return user ?? null;
}

function auditSourceOf({ address, requestId }: ClientInfo) {
  return { address, requestId };
}
