/** Recovery codes, as they are handed out and as they are kept: hashed like passwords, and encrypted as the library has them. */
import { generateRandomString, symmetricDecrypt, symmetricEncrypt } from "better-auth/crypto";
import type { Queryable } from "../platform/database.ts";
import { AppError } from "../platform/errors.ts";
import { sql } from "../platform/sql.ts";
import type { Auth } from "./auth.ts";
import type { PasswordHasher } from "./password.hash.ts";

export interface RecoveryCodeKeeper {
  /** A new set, good for nothing yet. Throws ServiceUnavailableException where too many passwords are hashed just now. */
  make(): Promise<MadeCodes>;
  /** In the place of the person's former ones. Throws ConflictException where there is no second factor. */
  keep(userId: string, made: MadeCodes): Promise<void>;
  /** What somebody has entered, as it stands in the person's set if it is right: the library compares. */
  asKept(userId: string, entered: string): Promise<string>;
}

export interface MadeCodes {
  readonly codes: readonly string[];
  readonly hashes: readonly string[];
}

export interface RecoveryCodeParts {
  auth: Auth;
  database: Queryable;
  hasher: PasswordHasher;
}

const COUNT = 10;
const HALF = 5;

export function createRecoveryCodes({ auth, database, hasher }: RecoveryCodeParts): RecoveryCodeKeeper {
  return {
    async make() {
      const codes = Array.from({ length: COUNT }, newCode);
      const [first = "", ...others] = codes;
      // One salt for the set: what is entered is hashed once, not against each. One after the other: people sign in meanwhile.
      const hashes = [await hasher.hash(first)];
      for (const code of others) hashes.push(await hasher.hashLike(hashes[0] as string, code));
      return { codes, hashes };
    },

    async keep(userId, { hashes }) {
      const { secretConfig: key } = await auth.$context;
      const kept = await symmetricEncrypt({ key, data: JSON.stringify(hashes) });
      const changed = await database.query(
        sql`update user_two_factor set recovery_codes = ${kept} where user_id = ${userId}::uuid returning id`,
      );
      if (changed.length === 0) throw new AppError("ConflictException", "The second factor is off");
    },

    async asKept(userId, entered) {
      const [row] = await database.query<{ recovery_codes: string }>(
        sql`select recovery_codes from user_two_factor where user_id = ${userId}::uuid`,
      );
      if (!row) return entered;
      const { secretConfig: key } = await auth.$context;
      const kept = JSON.parse(await symmetricDecrypt({ key, data: row.recovery_codes })) as string[];
      // None is left, or they were handed out before codes were hashed.
      if (!kept[0]?.startsWith("$argon2id$")) return entered;
      return await hasher.hashLike(kept[0], entered);
    },
  };
}

function newCode(): string {
  const text = generateRandomString(2 * HALF, "a-z", "0-9", "A-Z");
  return `${text.slice(0, HALF)}-${text.slice(HALF)}`;
}
