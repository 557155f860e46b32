/** Passwords of people who have an account: given again, changed, forgotten and replaced. */
import type { MailService } from "../mail/mail.service.ts";
import type { Afterwards } from "../platform/afterwards.ts";
import type { Database, Transaction } from "../platform/database.ts";
import { AppError } from "../platform/errors.ts";
import { systemActor } from "../platform/principal.ts";
import { sql } from "../platform/sql.ts";
import { wrongPassword } from "./auth.call.ts";
import type { Visit } from "./auth.visit.ts";
import { record } from "./audit.service.ts";
import { linkGone, type LinkService } from "./link.service.ts";
import type { PasswordHasher } from "./password.hash.ts";
import { FORGOTTEN_PAGE, passwordChangedMail, passwordResetMail } from "./password.mails.ts";
import { checkPassword } from "./password.rules.ts";
import type { SessionHolder } from "./session.holder.ts";
import type { Throttle } from "./throttle.ts";
import type { UserService } from "./user.service.ts";

export interface PasswordService {
  /**
   * For acts that want the password again. Throws BadRequestException, naming `field`, where it is not theirs, and
   * TooManyRequestsException.
   */
  verifyPassword(userId: string, password: string, field?: string): Promise<void>;
  /** Ends the person's other sessions. */
  changePassword(
    holder: SessionHolder,
    change: { current: string; next: string },
    visit: Visit,
  ): Promise<void>;
  /** The same for every address, known or not: what is done about it is done after the answer, and goes by mail. */
  forgotPassword(email: string, visit: Visit): Promise<void>;
  /** Ends all of the person's sessions. Throws NotFoundException for a link that is not good any more. */
  resetPassword(reset: { token: string; password: string }, visit: Visit): Promise<void>;
}

export interface PasswordParts {
  database: Database;
  hasher: PasswordHasher;
  users: UserService;
  links: LinkService;
  mails: Pick<MailService, "enqueue">;
  throttle: Throttle;
  afterwards: Afterwards;
  /** An address of the console, such as `https://api.example.com/sign-in`. */
  pageUrl: (path: string) => string;
}

const RESET_MS = 3_600_000;

export function createPasswordService(parts: PasswordParts): PasswordService {
  const { database, users, throttle, afterwards } = parts;

  const verifyPassword: PasswordService["verifyPassword"] = async (userId, password, field) => {
    await throttle.take(["password-account", userId]);
    if (!(await users.isPasswordOf(database, userId, password))) throw wrongPassword(field);
    await throttle.giveBack(["password-account", userId]);
  };

  return {
    verifyPassword,

    async changePassword({ user, sessionId, organizationId, actor }, { current, next }, visit) {
      checkPassword(next, user.email, "new_password");
      await verifyPassword(user.id, current, "current_password");
      const hash = await parts.hasher.hash(next);
      await database.transaction(async (tx) => {
        const sessionsEnded = await replace(parts, tx, { ...user, hash, exceptSessionId: sessionId });
        await requireSession(tx, sessionId);
        const details = { sessions_ended: sessionsEnded };
        await record(tx, { action: "password.changed", actor, organizationId, details, ...origin(visit) });
      });
    },

    async forgotPassword(email, visit) {
      await throttle.take(["form-address", visit.address]);
      afterwards.run("forgotten password", () => sendLink(parts, email, visit));
    },

    resetPassword: (reset, visit) => resetPassword(parts, reset, visit),
  };
}

async function resetPassword(
  parts: PasswordParts,
  { token, password }: { token: string; password: string },
  visit: Visit,
): Promise<void> {
  const { database, links, throttle } = parts;
  await throttle.take(["link-address", visit.address]);
  const known = await links.check(token);
  if (known.kind !== "password_reset") throw linkGone();
  // Before the link is used up: whoever has it may try another.
  checkPassword(password, known.email);
  const hash = await parts.hasher.hash(password);
  await database.transaction(async (tx) => {
    const { subjectId: id, email } = await links.consume(tx, token, "password_reset");
    const person = await findPerson(tx, sql`id = ${id}::uuid`);
    if (!person) throw linkGone();
    const sessionsEnded = await replace(parts, tx, { id, email, hash });
    await record(tx, {
      action: "password.reset",
      actor: { type: "user", id },
      organizationId: person.organization_id,
      details: { sessions_ended: sessionsEnded },
      ...origin(visit),
    });
  });
}

interface Replacement {
  /** The person's uuid. */
  id: string;
  email: string;
  hash: string;
  exceptSessionId?: string;
}

/** The new password, and the end of whatever the old one had opened; answers with how many sessions ended. */
async function replace(
  { users, links, mails, pageUrl }: PasswordParts,
  tx: Transaction,
  { id, email, hash, exceptSessionId }: Replacement,
): Promise<number> {
  // A link that somebody asked for before would replace the new one. Before the rest, as where a link is used up: so nobody
  // waits in a circle.
  await links.end(tx, { kind: "password_reset", subjectId: id });
  const changed = await tx.query(sql`
    update user_credential set password = ${hash}, updated_at = now() where user_id = ${id}::uuid returning id`);
  if (changed.length === 0) throw new AppError("UnauthorizedException", "There is no such account any more");
  // Sign-ins that wait for their second factor.
  await tx.query(sql`delete from user_verification where value = ${id}`);
  await mails.enqueue(tx, passwordChangedMail(email, pageUrl(FORGOTTEN_PAGE)));
  return await users.endSessions(tx, id, { id: exceptSessionId });
}

/** With the credential locked: whoever replaced the password since the former one was compared has ended the session. */
async function requireSession(tx: Transaction, id: string): Promise<void> {
  if ((await tx.query(sql`select from user_session where id = ${id}::uuid`)).length > 0) return;
  throw new AppError("UnauthorizedException", "You are not signed in, or your session has ended");
}

async function sendLink(parts: PasswordParts, email: string, visit: Visit): Promise<void> {
  const { database, links, mails, throttle, pageUrl } = parts;
  const person = await findPerson(database, sql`email = ${email}`);
  // So that nobody's mailbox is filled by others.
  if (!person || !(await throttle.allows(["reset-account", email]))) return;
  await database.transaction(async (tx) => {
    const link = { kind: "password_reset", subjectId: person.id, email, lifetimeMs: RESET_MS } as const;
    const token = await links.issue(tx, link);
    await mails.enqueue(tx, passwordResetMail(email, pageUrl(`/reset-password#token=${token}`)));
    await record(tx, {
      action: "password.forgotten",
      actor: systemActor,
      organizationId: person.organization_id,
      subject: email,
      ...origin(visit),
    });
  });
}

async function findPerson(
  on: Pick<Database, "query">,
  which: ReturnType<typeof sql>,
): Promise<{ id: string; organization_id: string | null } | null> {
  const [person] = await on.query<{ id: string; organization_id: string | null }>(
    sql`select id, organization_id from user_account where ${which}`,
  );
  return person ?? null;
}

function origin({ address, requestId }: Visit) {
  return { address, requestId };
}
