/** Generates and stores recovery codes: hashed like passwords, then encrypted as better-auth expects. */
import { generateRandomString, symmetricDecrypt, symmetricEncrypt } from "better-auth/crypto";
import { AppError } from "../../core/errors.ts";
import type { AccountContext } from "../context.ts";
import { UserTwoFactor } from "../credential.entity.ts";
import type { PasswordHasher } from "../passwords/hasher.ts";

interface GeneratedCodes {
  readonly codes: readonly string[];
  readonly hashes: readonly string[];
}

const CODE_COUNT = 10;
const HALF_CODE_LENGTH = 5;

/** Returns ten new codes, not stored yet. Throws ServiceUnavailableException if too many hashes are queued. */
export async function generateRecoveryCodes(hasher: PasswordHasher): Promise<GeneratedCodes> {
  const codes = Array.from({ length: CODE_COUNT }, newCode);
  const [first = "", ...others] = codes;
  // All codes share one salt, so that an entered code is hashed only once. Hashed one by one, to let sign-ins run in between.
  const hashes = [await hasher.hash(first)];
  for (const code of others) hashes.push(await hasher.hashWithSaltOf(hashes[0] as string, code));
  return { codes, hashes };
}

/** Replaces the user's codes. Throws ConflictException if two-factor authentication is off. */
export async function saveRecoveryCodes(
  { auth, database }: AccountContext,
  userId: string,
  { hashes }: GeneratedCodes,
): Promise<void> {
  const { secretConfig: key } = await auth.$context;
  const recoveryCodes = await symmetricEncrypt({ key, data: JSON.stringify(hashes) });
  const changed = await database.em().nativeUpdate(UserTwoFactor, { user: userId }, { recoveryCodes });
  if (changed === 0) throw twoFactorOffError();
}

/** Hashes an entered code with the salt of the user's codes. The library compares the result with the stored ones. */
export async function toStoredRecoveryCode(
  { auth, database, hasher }: AccountContext,
  userId: string,
  entered: string,
): Promise<string> {
  const stored = await database.em().findOne(UserTwoFactor, { user: userId });
  if (!stored) return entered;
  const { secretConfig: key } = await auth.$context;
  const hashes = JSON.parse(await symmetricDecrypt({ key, data: stored.recoveryCodes })) as string[];
  // No codes are left, or they were stored before codes were hashed.
  if (!hashes[0]?.startsWith("$argon2id$")) return entered;
  return await hasher.hashWithSaltOf(hashes[0], entered);
}

export function twoFactorOffError(): AppError {
  return new AppError("ConflictException", "Two-factor authentication is off");
}

function newCode(): string {
  const text = generateRandomString(2 * HALF_CODE_LENGTH, "a-z", "0-9", "A-Z");
  return `${text.slice(0, HALF_CODE_LENGTH)}-${text.slice(HALF_CODE_LENGTH)}`;
}
