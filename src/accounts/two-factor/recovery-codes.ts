/** Recovery codes, as they are handed out and as they are kept: hashed like passwords, and encrypted as the library has them. */
import { generateRandomString, symmetricDecrypt, symmetricEncrypt } from "better-auth/crypto";
import type { Queryable } from "../../platform/postgres/database.ts";
import { AppError } from "../../platform/errors.ts";
import { sql } from "../../platform/postgres/sql.ts";
import type { BetterAuth } from "../auth/better-auth.ts";
import type { PasswordHasher } from "../passwords/hasher.ts";

export interface RecoveryCodeStore {
  /** A new set, good for nothing yet. Throws ServiceUnavailableException where too many passwords are hashed just now. */
  generate(): Promise<GeneratedCodes>;
  /** In the place of the person's former ones. Throws ConflictException where there is no second factor. */
  save(userId: string, made: GeneratedCodes): Promise<void>;
  /** What somebody has entered, as it stands in the person's set if it is right: the library compares. */
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
      // One salt for the set: what is entered is hashed once, not against each. One after the other: people sign in meanwhile.
      const hashes = [await hasher.hash(first)];
      for (const code of others) hashes.push(await hasher.hashWithSaltOf(hashes[0] as string, code));
      return { codes, hashes };
    },

    async save(userId, { hashes }) {
      const { secretConfig: key } = await auth.$context;
      const kept = await symmetricEncrypt({ key, data: JSON.stringify(hashes) });
      const changed = await database.query(
        sql`update user_two_factor set recovery_codes = ${kept} where user_id = ${userId}::uuid returning id`,
      );
      if (changed.length === 0) throw new AppError("ConflictException", "The second factor is off");
    },

    async toStoredForm(userId, entered) {
      const [row] = await database.query<{ recovery_codes: string }>(
        sql`select recovery_codes from user_two_factor where user_id = ${userId}::uuid`,
      );
      if (!row) return entered;
      const { secretConfig: key } = await auth.$context;
      const kept = JSON.parse(await symmetricDecrypt({ key, data: row.recovery_codes })) as string[];
      // None is left, or they were handed out before codes were hashed.
      if (!kept[0]?.startsWith("$argon2id$")) return entered;
      return await hasher.hashWithSaltOf(kept[0], entered);
    },
  };
}

function newCode(): string {
  const text = generateRandomString(2 * HALF_CODE_LENGTH, "a-z", "0-9", "A-Z");
  return `${text.slice(0, HALF_CODE_LENGTH)}-${text.slice(HALF_CODE_LENGTH)}`;
}
