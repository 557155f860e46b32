/** Passwords of people who have an account: given again, changed, forgotten and replaced. */
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
  /**
   * For acts that want the password again. Throws BadRequestException, naming `field`, where it is not theirs, and
   * TooManyRequestsException.
   */
  verifyPassword(userId: string, password: string, field?: string): Promise<void>;
  /** Ends the person's other sessions. */
  changePassword(
    holder: SessionPrincipal,
    change: { current: string; next: string },
    visit: ClientInfo,
  ): Promise<void>;
  /** The same for every address, known or not: what is done about it is done after the answer, and goes by mail. */
  forgotPassword(email: string, visit: ClientInfo): Promise<void>;
  /** Ends all of the person's sessions. Throws NotFoundException for a link that is not good any more. */
  resetPassword(reset: { token: string; password: string }, visit: ClientInfo): Promise<void>;
}

export interface PasswordDeps {
  database: Database;
  hasher: PasswordHasher;
  users: UserService;
  emailTokens: EmailTokenService;
  mails: Pick<MailService, "enqueue">;
  throttle: Throttle;
  backgroundQueue: BackgroundQueue;
  /** An address of the console, such as `https://api.example.com/sign-in`. */
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

    async forgotPassword(email, visit) {
      await throttle.take(["form-address", visit.address]);
      backgroundQueue.run("forgotten password", () => sendResetLink(deps, email, visit));
    },

    resetPassword: (reset, visit) => resetPassword(deps, reset, visit),
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
  // Before the link is used up: whoever has it may try another.
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
  /** The person's uuid. */
  id: string;
  email: string;
  hash: string;
  exceptSessionId?: string;
}

/** The new password, and the end of whatever the old one had opened; answers with how many sessions ended. */
async function replacePassword(
  { users, emailTokens, mails, pageUrl }: PasswordDeps,
  tx: Transaction,
  { id, email, hash, exceptSessionId }: PasswordReplacement,
): Promise<number> {
  // A link that somebody asked for before would replace the new one. Before the rest, as where a link is used up: so nobody
  // waits in a circle.
  await emailTokens.revoke(tx, { kind: "password_reset", subjectId: id });
  const changed = await tx.query(sql`
    update user_credential set password = ${hash}, updated_at = now() where user_id = ${id}::uuid returning id`);
  if (changed.length === 0) throw new AppError("UnauthorizedException", "There is no such account any more");
  // Sign-ins that wait for their second factor.
  await tx.query(sql`delete from user_verification where value = ${id}`);
  await mails.enqueue(tx, passwordChangedMail(email, pageUrl(FORGOTTEN_PASSWORD_PATH)));
  return await users.revokeSessions(tx, id, { id: exceptSessionId });
}

/** With the credential locked: whoever replaced the password since the former one was compared has ended the session. */
async function assertSessionExists(tx: Transaction, id: string): Promise<void> {
  if ((await tx.query(sql`select from user_session where id = ${id}::uuid`)).length > 0) return;
  throw new AppError("UnauthorizedException", "You are not signed in, or your session has ended");
}

async function sendResetLink(deps: PasswordDeps, email: string, client: ClientInfo): Promise<void> {
  const { database, emailTokens, mails, throttle, pageUrl } = deps;
  const user = await findUser(database, sql`email = ${email}`);
  // So that nobody's mailbox is filled by others.
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
