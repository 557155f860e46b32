/** For people who have lost their second factor and its recovery codes: whoever runs the service turns it off for them. */
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
  /** An address of the console, such as `https://api.example.com/sign-in`. */
  pageUrl: (path: string) => string;
}

export interface TwoFactorResetResult {
  readonly email: string;
  readonly sessionsRevoked: number;
}

/**
 * They keep their password, and are told by mail. Throws BadRequestException for what is no address, NotFoundException
 * where it has no account, and ConflictException where there is no second factor.
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
    if (!user) throw new AppError("NotFoundException", `Nobody has an account with ${email}`);
    // Before the account, as where a session is used: so nobody waits in a circle.
    const sessionsRevoked = await revokeSessions(tx, user.id);
    if (!(await disableTwoFactor(tx, user.id)))
      throw new AppError("ConflictException", `${email} has no second factor`);
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

/** With its secret, its recovery codes and the sign-ins that wait for it. False where it was off. */
export async function disableTwoFactor(tx: Transaction, userId: string): Promise<boolean> {
  const changed = await tx.query(sql`
    update user_account set two_factor_enabled = false, updated_at = now()
    where id = ${userId}::uuid and two_factor_enabled returning id`);
  await tx.query(sql`delete from user_two_factor where user_id = ${userId}::uuid`);
  await tx.query(sql`delete from user_verification where value = ${userId}`);
  return changed.length > 0;
}
