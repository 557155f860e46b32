/** People: made when they register, renamed by themselves, and signed out by whoever may end their sessions. */
import type { Queryable } from "../platform/postgres/database.ts";
import { AppError } from "../platform/errors.ts";
import { newUuid } from "../platform/ids.ts";
import { sql } from "../platform/postgres/sql.ts";
import { forgetBrowsers } from "./auth/known-browser.ts";
import type { PasswordHasher } from "./passwords/hasher.ts";
import { checkPassword } from "./passwords/rules.ts";
import type { UserRole } from "../organizations/api.ts";

export interface NewUser {
  /** In small letters (`accountEmail`). */
  readonly email: string;
  readonly name: string;
  readonly password: string;
  /** A uuid; null for an operator. */
  readonly organizationId: string | null;
  readonly role: UserRole;
}

/** With the password's hash in its place (`hashPassword`). */
export interface HashedUser extends Omit<NewUser, "password"> {
  readonly passwordHash: string;
}

export interface UserService {
  /**
   * Takes a while, and waits for its turn: not for the inside of a transaction, whose rows and connection would wait too.
   * Throws BadRequestException where the password will not do for somebody with this address.
   */
  hashPassword(password: string, email: string): Promise<string>;
  /** In the transaction of the link that was followed; answers with the uuid. Throws ConflictException where the address has an account. */
  insertUser(tx: Queryable, user: HashedUser): Promise<string>;
  /** Both, where nobody else waits for the transaction. */
  createUser(tx: Queryable, user: NewUser): Promise<string>;
  /** Unbounded: whoever asks has counted the try. */
  verifyPasswordHash(on: Queryable, userId: string, password: string): Promise<boolean>;
  /** Ends a user's sessions but for `kept`, and forgets the browsers that are known; returns how many sessions ended. */
  revokeSessions(on: Queryable, userId: string, kept?: SessionToKeep): Promise<number>;
}

/** By its uuid, or by the token that its cookie holds. */
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
  // The credential before the sessions, in the order in which a password is replaced.
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
    with person as (
      insert into user_account (id, email, name, organization_id, role)
      values (${id}::uuid, ${email}, ${name}, ${organizationId}::uuid, ${role})
      on conflict (email) do nothing returning id
    )
    insert into user_credential (id, user_id, account_id, provider_id, password)
    select ${newUuid()}::uuid, id, id::text, 'credential', ${passwordHash} from person
    returning user_id`);
  if (inserted.length === 0)
    throw new AppError("ConflictException", "There is an account with this e-mail address already");
  return id;
}
