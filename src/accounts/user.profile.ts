/** What people say of themselves. */
import type { Database } from "../platform/database.ts";
import { sql } from "../platform/sql.ts";
import { record } from "./audit.service.ts";
import type { Visit } from "./auth.visit.ts";
import type { SessionHolder } from "./session.holder.ts";

export interface Profile {
  /** `name`: one line (`personName`). */
  rename(holder: SessionHolder, name: string, visit: Visit): Promise<void>;
}

export function createProfile({ database }: { database: Database }): Profile {
  return {
    async rename({ user, actor, organizationId }, name, { address, requestId }) {
      if (name === user.name) return;
      await database.transaction(async (tx) => {
        await tx.query(
          sql`update user_account set name = ${name}, updated_at = now() where id = ${user.id}::uuid`,
        );
        const details = { from: user.name, to: name };
        await record(tx, { action: "person.renamed", actor, organizationId, details, address, requestId });
      });
    },
  };
}
