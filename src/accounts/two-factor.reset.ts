/** For people who have lost their second factor and its recovery codes: whoever runs the service turns it off for them. */
import type { MailService } from "../mail/mail.service.ts";
import type { Database, Transaction } from "../platform/database.ts";
import { AppError } from "../platform/errors.ts";
import { sql } from "../platform/sql.ts";
import { accountEmail, checked } from "./account.fields.ts";
import { record, type ActContext } from "./audit.service.ts";
import { FORGOTTEN_PAGE, secondFactorResetMail } from "./password.mails.ts";
import { endSessions } from "./user.service.ts";

export interface ResetParts {
  database: Database;
  mails: Pick<MailService, "enqueue">;
  /** An address of the console, such as `https://api.example.com/sign-in`. */
  pageUrl: (path: string) => string;
}

export interface SecondFactorReset {
  readonly email: string;
  readonly sessionsEnded: number;
}

/**
 * They keep their password, and are told by mail. Throws BadRequestException for what is no address, NotFoundException
 * where it has no account, and ConflictException where there is no second factor.
 */
export async function resetSecondFactor(
  { database, mails, pageUrl }: ResetParts,
  context: ActContext,
  given: string,
): Promise<SecondFactorReset> {
  const email = checked(accountEmail, given, "email");
  return await database.transaction(async (tx) => {
    const [person] = await tx.query<{ id: string; organization_id: string | null }>(
      sql`select id, organization_id from user_account where email = ${email}`,
    );
    if (!person) throw new AppError("NotFoundException", `Nobody has an account with ${email}`);
    // Before the account, as where a session is used: so nobody waits in a circle.
    const sessionsEnded = await endSessions(tx, person.id);
    if (!(await turnOff(tx, person.id)))
      throw new AppError("ConflictException", `${email} has no second factor`);
    await mails.enqueue(tx, secondFactorResetMail(email, pageUrl(FORGOTTEN_PAGE)));
    await record(tx, {
      action: "second_factor.reset",
      organizationId: person.organization_id,
      subject: email,
      details: { sessions_ended: sessionsEnded },
      ...context,
    });
    return { email, sessionsEnded };
  });
}

/** With its secret, its recovery codes and the sign-ins that wait for it. False where it was off. */
export async function turnOff(tx: Transaction, userId: string): Promise<boolean> {
  const changed = await tx.query(sql`
    update user_account set two_factor_enabled = false, updated_at = now()
    where id = ${userId}::uuid and two_factor_enabled returning id`);
  await tx.query(sql`delete from user_two_factor where user_id = ${userId}::uuid`);
  await tx.query(sql`delete from user_verification where value = ${userId}`);
  return changed.length > 0;
}
