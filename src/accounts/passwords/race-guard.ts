/** Detects a password change during a sign-in with the old password: verifying a hash is slow and may queue. */
import type { FilterQuery, InferEntity } from "@mikro-orm/postgresql";
import type { Database } from "../../core/postgres/database.ts";
import { selectSettledPassword } from "../auth/sign-in.sql.ts";
import { UserCredential } from "../credential.entity.ts";

export interface PasswordSnapshot {
  /** Call it after creating the session. If false, the password change may have missed the session: revoke it. */
  isUnchanged(): Promise<boolean>;
}

/** `where` must match at most one user's credential. If it matches none, `isUnchanged` returns true. */
export async function snapshotPassword(
  database: Database,
  where: FilterQuery<InferEntity<typeof UserCredential>>,
): Promise<PasswordSnapshot> {
  const before = await database.em().findOne(UserCredential, where);
  return {
    async isUnchanged() {
      if (!before) return true;
      // Waits for an uncommitted change. A change that starts later sees the session and revokes it.
      return (await selectSettledPassword(database, before.user.id)) === before.password;
    },
  };
}
