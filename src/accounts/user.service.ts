/** Creates and renames users, checks their passwords and revokes their sessions. */
import { randomUUID } from "node:crypto";
import { type EntityManager, raw, UniqueConstraintViolationException } from "@mikro-orm/postgresql";
import { recordAuditEvent } from "../audit/api.ts";
import type { Reader } from "../core/postgres/database.ts";
import { AppError } from "../core/errors.ts";
import { newUuid } from "../core/ids.ts";
import { Organization, User, type UserRole } from "../organizations/api.ts";
import type { ClientInfo } from "./auth/auth-request.ts";
import type { AccountContext } from "./context.ts";
import { PASSWORD_PROVIDER, UserCredential } from "./credential.entity.ts";
import { checkPassword } from "./passwords/rules.ts";
import { UserSession, UserVerification } from "./sessions/entity.ts";
import type { SessionPrincipal } from "./sessions/session-principal.ts";

export interface NewUser {
  /** Normalised by `accountEmail`. */
  readonly email: string;
  readonly name: string;
  readonly password: string;
  /** A uuid; null for an operator. */
  readonly organizationId: string | null;
  readonly role: UserRole;
}

/** A hashed password, or the identity of single sign-on, as in UserCredential. */
export type Login =
  | { readonly passwordHash: string }
  | { readonly providerId: string; readonly accountId: string };

export class UserService {
  readonly #context: Pick<AccountContext, "database" | "hasher">;

  constructor(context: Pick<AccountContext, "database" | "hasher">) {
    this.#context = context;
  }

  /**
   * Hashes the password and inserts the user. Returns their uuid. Only where a slow transaction blocks no one, as for demo
   * data. Throws BadRequestException for a password that is not allowed, ConflictException as `insertUser`.
   */
  async createUser(tx: Reader, { password, ...user }: NewUser): Promise<string> {
    checkPassword(password, user.email);
    return await insertUser(tx, { ...user, passwordHash: await this.#context.hasher.hash(password) });
  }

  /** Not throttled: the caller must limit the attempts. */
  async verifyPasswordHash(on: Reader, userId: string, password: string): Promise<boolean> {
    const credential = await on.em().findOne(UserCredential, { user: userId, providerId: PASSWORD_PROVIDER });
    const hash = credential?.password ?? null;
    return hash !== null && (await this.#context.hasher.verify(hash, password));
  }

  /** Changes the user's own name. `name`: validated by `userNameField`. */
  async rename(principal: SessionPrincipal, name: string, client: ClientInfo): Promise<void> {
    const { user } = principal;
    if (name === user.name) return;
    await this.#context.database.transactional(async (em) => {
      await em.nativeUpdate(User, { id: user.id }, { name, updatedAt: new Date() });
      const details = { from: user.name, to: name };
      await recordAuditEvent(em, { ...principal, ...client, action: "user.renamed", details });
    });
  }
}

/** Revokes the sessions of all users and makes all browsers unknown. Returns the number of sessions. */
export async function revokeAllSessions(tx: Reader): Promise<number> {
  const epoch = raw("gen_random_uuid()");
  await tx.em().nativeUpdate(User, {}, { epoch });
  return await tx.em().nativeDelete(UserSession, {});
}

/** The columns of a user's password. */
export const passwordOf = (userId: string, password: string) => ({
  accountId: userId,
  providerId: PASSWORD_PROVIDER,
  password,
});

/** True if the e-mail address has an account in any organisation. */
export async function hasAccount(em: EntityManager, email: string): Promise<boolean> {
  return (await em.count(User, { email }, { filters: false })) > 0;
}

/**
 * Inserts a user whose password is already hashed, as hashing is slow and must not hold a transaction. Returns the user's
 * uuid. Throws ConflictException if the e-mail address or the identity has an account.
 */
export async function insertUser(
  tx: Reader,
  { email, name, organizationId, role, ...login }: Omit<NewUser, "password"> & Login,
): Promise<string> {
  const em = tx.em();
  const id = newUuid();
  const organization = organizationId === null ? null : em.getReference(Organization, organizationId);
  const user = em.create(User, { id, email, name, organization, role });
  const { accountId, providerId, password } =
    "passwordHash" in login ? passwordOf(id, login.passwordHash) : { ...login, password: null };
  const credential = { user, accountId, providerId, password };
  try {
    await em.persist([user, em.create(UserCredential, { id: newUuid(), ...credential })]).flush();
  } catch (error) {
    if (!(error instanceof UniqueConstraintViolationException)) throw error;
    throw new AppError("ConflictException", "An account with this e-mail address already exists", {
      cause: error,
    });
  }
  return id;
}

/**
 * Revokes a user's sessions and sign-ins in progress, and makes their browsers unknown. `toKeep`: a session by its uuid or by
 * its cookie's token. Returns the number of revoked sessions.
 */
export async function revokeSessions(
  on: Reader,
  userId: string,
  toKeep: { id?: string | undefined; token?: string | null } = {},
): Promise<number> {
  const em = on.em();
  const { id, token } = toKeep;
  const epoch = randomUUID();
  await em.nativeUpdate(User, { id: userId }, { epoch });
  // With a two-factor code still missing.
  await em.nativeDelete(UserVerification, { value: userId });
  const kept = { user: userId, ...(id ? { id } : { token: token ?? "" }) };
  await em.nativeUpdate(UserSession, kept, { epoch });
  return await em.nativeDelete(UserSession, { user: userId, epoch: { $ne: epoch } });
}
