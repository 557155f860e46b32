/** Creates users, checks their passwords and revokes their sessions. */
import type { Queryable } from "../platform/postgres/database.ts";
import { AppError } from "../platform/errors.ts";
import { newUuid } from "../platform/ids.ts";
import { sql } from "../platform/postgres/sql.ts";
import { forgetBrowsers } from "./auth/known-browser.ts";
import type { PasswordHasher } from "./passwords/hasher.ts";
import { checkPassword } from "./passwords/rules.ts";
import type { UserRole } from "../organizations/api.ts";

export interface NewUser {
  /** Normalised by `accountEmail`. */
  readonly email: string;
  readonly name: string;
  readonly password: string;
  /** A uuid; null for an operator. */
  readonly organizationId: string | null;
  readonly role: UserRole;
}

/** A new user whose password is already hashed (`hashPassword`). */
export interface HashedUser extends Omit<NewUser, "password"> {
  readonly passwordHash: string;
}

export interface UserService {
  /**
   * Slow, and queued behind other hashes: call it before a transaction, not within. Throws BadRequestException if the
   * password is not allowed for a user with this e-mail address.
   */
  hashPassword(password: string, email: string): Promise<string>;
  /** Returns the user's uuid. Throws ConflictException if the e-mail address has an account. */
  insertUser(tx: Queryable, user: HashedUser): Promise<string>;
  /** `hashPassword` and `insertUser` in one call: only where a slow transaction blocks no one, as for demo data. */
  createUser(tx: Queryable, user: NewUser): Promise<string>;
  /** Not throttled: the caller must limit the attempts. */
  verifyPasswordHash(on: Queryable, userId: string, password: string): Promise<boolean>;
  /** Revokes a user's sessions except `sessionToKeep`, and forgets the known browsers. Returns the number of revoked sessions. */
  revokeSessions(on: Queryable, userId: string, sessionToKeep?: SessionToKeep): Promise<number>;
}

/** A session by its uuid or by its cookie's token. */
export interface SessionToKeep {
  readonly id?: string | undefined;
  readonly token?: string | null;
}

export function createUserService({ hasher }: { hasher: PasswordHasher }): UserService {
  const hashPassword: UserService["hashPassword"] = async (password, email) => {
    checkPassword(password, email);
    return await hasher.hash(password);
  };

  return {
    hashPassword,
    insertUser,
    createUser: async (tx, { password, ...user }) =>
      insertUser(tx, { ...user, passwordHash: await hashPassword(password, user.email) }),
    async verifyPasswordHash(on, userId, password) {
      const [credential] = await on.query<{ password: string }>(
        sql`select password from user_credential where user_id = ${userId}::uuid`,
      );
      return credential !== undefined && (await hasher.verify(credential.password, password));
    },
    revokeSessions,
  };
}

export const revokeSessions: UserService["revokeSessions"] = async (on, userId, { id, token } = {}) => {
  // Locks the credential before the sessions, in the same order as a password change, to avoid deadlocks.
  await forgetBrowsers(on, userId);
  const revoked = await on.query(sql`
    delete from user_session
    where user_id = ${userId}::uuid and id is distinct from ${id ?? null}::uuid
      and token is distinct from ${token ?? null}
    returning id`);
  return revoked.length;
};

async function insertUser(
  tx: Queryable,
  { email, name, passwordHash, organizationId, role }: HashedUser,
): Promise<string> {
  const id = newUuid();
  const inserted = await tx.query(sql`
    with account as (
      insert into user_account (id, email, name, organization_id, role)
      values (${id}::uuid, ${email}, ${name}, ${organizationId}::uuid, ${role})
      on conflict (email) do nothing returning id
    )
    insert into user_credential (id, user_id, account_id, provider_id, password)
    select ${newUuid()}::uuid, id, id::text, 'credential', ${passwordHash} from account
    returning user_id`);
  if (inserted.length === 0)
    throw new AppError("ConflictException", "An account with this e-mail address already exists");
  return id;
}
