/** Revoking pending invitations, in the caller's transaction: their links end, and the audit log says so. */
import type { Queryable } from "../platform/database.ts";
import { toTypedId } from "../platform/ids.ts";
import { sql, type Sql } from "../platform/sql.ts";
import { record, type ActContext } from "./audit.service.ts";
import type { LinkService } from "./link.service.ts";

/** Revokes those of the organisation of `by` that match `condition`, and returns their uuids. */
export async function revokeInvitations(
  on: Queryable,
  links: Pick<LinkService, "end">,
  by: ActContext & { readonly organizationId: string | null },
  condition: Sql,
): Promise<string[]> {
  const revoked = await on.query<{ id: string; email: string }>(sql`
    delete from invitation where organization_id is not distinct from ${by.organizationId}::uuid and ${condition}
    returning id, email`);
  for (const { id, email } of revoked) {
    await links.end(on, { kind: "invitation", subjectId: id });
    const subject = toTypedId("inv", id);
    await record(on, { action: "invitation.revoked", subject, details: { email }, ...by });
  }
  return revoked.map(({ id }) => id);
}
