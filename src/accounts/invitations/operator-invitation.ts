/** Invites an operator from the command line. This is how an installation gets its first operator. */
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/postgres/database.ts";
import { AppError } from "../../platform/errors.ts";
import { newUuid, toTypedId } from "../../platform/ids.ts";
import { systemActor } from "../../platform/principal.ts";
import { sql } from "../../platform/postgres/sql.ts";
import { accountEmail, parseOrThrow } from "../account.fields.ts";
import { NO_SOURCE, recordAuditEvent } from "../../audit/api.ts";
import { REGISTRATION_LIFETIME_MS, type EmailTokenService } from "../email-token.service.ts";

export interface OperatorInvitation {
  readonly email: string;
  /** The page for choosing a name and a password. Works once; the token can't be read again later. */
  readonly url: string;
  readonly expiresAt: Date;
}

export interface OperatorInvitationDeps {
  database: Database;
  clock: Clock;
  emailTokens: EmailTokenService;
  /** Returns the URL of a console page, such as `https://api.example.com/sign-in`. */
  pageUrl: (path: string) => string;
}

/**
 * Inviting the same e-mail address again returns a new link and invalidates the previous one. Throws BadRequestException
 * for an invalid e-mail address, ConflictException if it has an account.
 */
export async function inviteOperator(
  { database, clock, emailTokens, pageUrl }: OperatorInvitationDeps,
  input: string,
): Promise<OperatorInvitation> {
  const email = parseOrThrow(accountEmail, input, "email");
  const nowMs = clock.now();
  return await database.transaction(async (tx) => {
    const existing = await tx.query(sql`select from user_account where email = ${email}`);
    if (existing.length > 0) throw new AppError("ConflictException", `${email} already has an account`);
    const [row] = await tx.query<{ id: string }>(sql`
      insert into invitation (id, organization_id, email, role, invited_by, invited_at)
      values (${newUuid()}, null, ${email}, 'operator', 'system', ${new Date(nowMs).toISOString()}::timestamptz)
      on conflict (email) where organization_id is null do update set invited_at = excluded.invited_at
      returning id`);
    const id = (row as { id: string }).id;
    const link = { kind: "invitation", subjectId: id, email, lifetimeMs: REGISTRATION_LIFETIME_MS } as const;
    const token = await emailTokens.issue(tx, link);
    await recordAuditEvent(tx, {
      action: "member.invited",
      actor: systemActor,
      organizationId: null,
      subject: toTypedId("inv", id),
      details: { email, role: "operator" },
      ...NO_SOURCE,
    });
    const url = pageUrl(`/invitation#token=${token}`);
    return { email, url, expiresAt: new Date(nowMs + REGISTRATION_LIFETIME_MS) };
  });
}
