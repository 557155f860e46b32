/** Revokes pending invitations in the caller's transaction, with their links and audit entries. */
import type { Queryable } from "../../platform/postgres/database.ts";
import { toTypedId } from "../../platform/ids.ts";
import { sql, type Sql } from "../../platform/postgres/sql.ts";
import { type AuditContext, recordAuditEvent } from "../../audit/api.ts";
import type { EmailTokenService } from "../email-token.service.ts";

/** Revokes the invitations of `admin`'s group that match `condition`. Returns their uuids. */
export async function revokeInvitations(
  on: Queryable,
  emailTokens: Pick<EmailTokenService, "revoke">,
  admin: AuditContext & { readonly organizationId: string | null },
  condition: Sql,
): Promise<string[]> {
  const revoked = await on.query<{ id: string; email: string }>(sql`
    delete from invitation where organization_id is not distinct from ${admin.organizationId}::uuid and ${condition}
    returning id, email`);
  for (const { id, email } of revoked) {
    await emailTokens.revoke(on, { kind: "invitation", subjectId: id });
    const subject = toTypedId("inv", id);
    await recordAuditEvent(on, { action: "invitation.revoked", subject, details: { email }, ...admin });
  }
  return revoked.map(({ id }) => id);
}
