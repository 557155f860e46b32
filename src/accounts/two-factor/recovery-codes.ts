/** Generates and stores recovery codes: hashed like passwords, then encrypted as better-auth expects. */
import { generateRandomString, symmetricDecrypt, symmetricEncrypt } from "better-auth/crypto";
import type { Queryable } from "../../platform/postgres/database.ts";
import { AppError } from "../../platform/errors.ts";
import { sql } from "../../platform/postgres/sql.ts";
import type { BetterAuth } from "../auth/better-auth.ts";
import type { PasswordHasher } from "../passwords/hasher.ts";

export interface RecoveryCodeStore {
  /** Returns ten new codes, not stored yet. Throws ServiceUnavailableException if too many hashes are queued. */
  generate(): Promise<GeneratedCodes>;
  /** Replaces the user's codes. Throws ConflictException if two-factor authentication is off. */
  save(userId: string, generated: GeneratedCodes): Promise<void>;
  /** Hashes an entered code with the salt of the user's codes. The library compares the result with the stored ones. */
  toStoredForm(userId: string, entered: string): Promise<string>;
}

export interface GeneratedCodes {
  readonly codes: readonly string[];
  readonly hashes: readonly string[];
}

export interface RecoveryCodeDeps {
  auth: BetterAuth;
  database: Queryable;
  hasher: PasswordHasher;
}

const CODE_COUNT = 10;
const HALF_CODE_LENGTH = 5;

export function createRecoveryCodes({ auth, database, hasher }: RecoveryCodeDeps): RecoveryCodeStore {
  return {
    async generate() {
      const codes = Array.from({ length: CODE_COUNT }, newCode);
      const [first = "", ...others] = codes;
      // All codes share one salt, so that an entered code is hashed only once. Hashed one by one, to let sign-ins run in between.
      const hashes = [await hasher.hash(first)];
      for (const code of others) hashes.push(await hasher.hashWithSaltOf(hashes[0] as string, code));
      return { codes, hashes };
    },

    async save(userId, { hashes }) {
      const { secretConfig: key } = await auth.$context;
      const encrypted = await symmetricEncrypt({ key, data: JSON.stringify(hashes) });
      const changed = await database.query(
        sql`update user_two_factor set recovery_codes = ${encrypted} where user_id = ${userId}::uuid returning id`,
      );
      if (changed.length === 0) throw new AppError("ConflictException", "Two-factor authentication is off");
    },

    async toStoredForm(userId, entered) {
      const [row] = await database.query<{ recovery_codes: string }>(
        sql`select recovery_codes from user_two_factor where user_id = ${userId}::uuid`,
      );
      if (!row) return entered;
      const { secretConfig: key } = await auth.$context;
      const hashes = JSON.parse(await symmetricDecrypt({ key, data: row.recovery_codes })) as string[];
      // No codes are left, or they were stored before codes were hashed.
      if (!hashes[0]?.startsWith("$argon2id$")) return entered;
      return await hasher.hashWithSaltOf(hashes[0], entered);
    },
  };
}

function newCode(): string {
  const text = generateRandomString(2 * HALF_CODE_LENGTH, "a-z", "0-9", "A-Z");
  return `${text.slice(0, HALF_CODE_LENGTH)}-${text.slice(HALF_CODE_LENGTH)}`;
}
