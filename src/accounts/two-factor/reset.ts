/** Turns two-factor authentication off for users who have lost their authenticator app and recovery codes. */
import type { MailService } from "../../mail/api.ts";
import type { Database, Transaction } from "../../platform/postgres/database.ts";
import { AppError } from "../../platform/errors.ts";
import { sql } from "../../platform/postgres/sql.ts";
import { accountEmail, parseOrThrow } from "../account.fields.ts";
import { type AuditContext, recordAuditEvent } from "../../audit/api.ts";
import { FORGOTTEN_PASSWORD_PATH, twoFactorResetMail } from "../passwords/mails.ts";
import { revokeSessions } from "../user.service.ts";

export interface TwoFactorResetDeps {
  database: Database;
  mails: Pick<MailService, "enqueue">;
  /** Returns the URL of a console page, such as `https://api.example.com/sign-in`. */
  pageUrl: (path: string) => string;
}

export interface TwoFactorResetResult {
  readonly email: string;
  readonly sessionsRevoked: number;
}

/**
 * Also revokes the user's sessions and mails them. `input`: the e-mail address. Throws BadRequestException if it is
 * invalid, NotFoundException if it has no account, and ConflictException if two-factor authentication is off.
 */
export async function resetTwoFactor(
  { database, mails, pageUrl }: TwoFactorResetDeps,
  context: AuditContext,
  input: string,
): Promise<TwoFactorResetResult> {
  const email = parseOrThrow(accountEmail, input, "email");
  return await database.transaction(async (tx) => {
    const [user] = await tx.query<{ id: string; organization_id: string | null }>(
      sql`select id, organization_id from user_account where email = ${email}`,
    );
    if (!user) throw new AppError("NotFoundException", `No account has the e-mail address ${email}`);
    // Locks sessions before the account, in the same order as using a session, to avoid deadlocks.
    const sessionsRevoked = await revokeSessions(tx, user.id);
    if (!(await disableTwoFactor(tx, user.id)))
      throw new AppError("ConflictException", `Two-factor authentication is off for ${email}`);
    await mails.enqueue(tx, twoFactorResetMail(email, pageUrl(FORGOTTEN_PASSWORD_PATH)));
    await recordAuditEvent(tx, {
      action: "two_factor.reset",
      organizationId: user.organization_id,
      subject: email,
      details: { sessions_ended: sessionsRevoked },
      ...context,
    });
    return { email, sessionsRevoked };
  });
}

/** Also deletes the secret, the recovery codes and unfinished sign-ins. Returns false if it was already off. */
export async function disableTwoFactor(tx: Transaction, userId: string): Promise<boolean> {
  const changed = await tx.query(sql`
    update user_account set two_factor_enabled = false, updated_at = now()
    where id = ${userId}::uuid and two_factor_enabled returning id`);
  await tx.query(sql`delete from user_two_factor where user_id = ${userId}::uuid`);
  await tx.query(sql`delete from user_verification where value = ${userId}`);
  return changed.length > 0;
}
