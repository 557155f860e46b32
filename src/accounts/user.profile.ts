/** Lets users change their own name. */
import type { Database } from "../platform/postgres/database.ts";
import { sql } from "../platform/postgres/sql.ts";
import { recordAuditEvent } from "../audit/api.ts";
import type { ClientInfo } from "./auth/client-info.ts";
import type { SessionPrincipal } from "./sessions/principal.ts";

export interface ProfileService {
  /** `name`: validated by `userNameField`. */
  updateName(principal: SessionPrincipal, name: string, client: ClientInfo): Promise<void>;
}

export function createProfileService({ database }: { database: Database }): ProfileService {
  return {
    async updateName({ user, actor, organizationId }, name, { address, requestId }) {
      if (name === user.name) return;
      await database.transaction(async (tx) => {
        await tx.query(
          sql`update user_account set name = ${name}, updated_at = now() where id = ${user.id}::uuid`,
        );
        const details = { from: user.name, to: name };
        await recordAuditEvent(tx, {
          action: "user.renamed",
          actor,
          organizationId,
          details,
          address,
          requestId,
        });
      });
    },
  };
}
