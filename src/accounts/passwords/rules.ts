/** What a password may be: long enough to be guessed by nobody, whatever it consists of (NIST SP 800-63B, 3.1.1.2). */
import { type Problem, badRequest } from "../../platform/errors.ts";

export const MIN_PASSWORD_LENGTH = 12;
export const MAX_PASSWORD_LENGTH = 128;

/**
 * What remains of the commonest passwords once short ones are refused anyway, in small letters and without what is put at
 * their ends: beginnings and repeats of these are refused too.
 */
const COMMON_PASSWORDS = [
  "password",
  "passw0rd",
  "p@ssword",
  "p@ssw0rd",
  "1234567890",
  "0123456789",
  "0987654321",
  "9876543210",
  "qwertyuiop",
  "qwerty",
  "qwertz",
  "azerty",
  "1q2w3e4r5t6y",
  "1qaz2wsx3edc",
  "zaq12wsx",
  "asdfghjkl",
  "zxcvbnm",
  "abcdefghijkl",
  "letmein",
  "welcome",
  "iloveyou",
  "administrator",
  "admin",
  "changeme",
  "secret",
  "monkey",
  "dragon",
  "sunshine",
  "princess",
  "football",
  "baseball",
  "superman",
  "trustno1",
  "waymark",
];

/** Throws BadRequestException, naming `field`, where a person with this address may not have this password. */
export function checkPassword(password: string, email: string, field = "password"): void {
  const message = passwordProblem(password, email);
  if (message === null) return;
  const problem: Problem = { location: "body", field, code: "invalid_value", message };
  throw badRequest([problem]);
}

function passwordProblem(password: string, email: string): string | null {
  const length = Array.from(password).length;
  if (length < MIN_PASSWORD_LENGTH) return `must have at least ${MIN_PASSWORD_LENGTH} characters`;
  if (length > MAX_PASSWORD_LENGTH) return `must have at most ${MAX_PASSWORD_LENGTH} characters`;
  if (password.includes("\0") || !password.isWellFormed()) return "must be text";
  const folded = password.normalize("NFC").toLowerCase();
  if (isEmailAddress(folded, email.toLowerCase())) return "must not be your e-mail address";
  return isCommon(folded) ? "is one of those that are guessed first" : null;
}

/** The address, or what stands before its @ with digits and signs around it. */
function isEmailAddress(folded: string, address: string): boolean {
  const mailbox = stripDigitsAndPunctuation(address.split("@")[0] ?? "");
  return folded === address || (mailbox !== "" && stripDigitsAndPunctuation(folded) === mailbox);
}

/** One character again and again, or a common word: alone, repeated, with others, or with digits and signs around it. */
function isCommon(folded: string): boolean {
  if (new Set(folded).size < 5) return true;
  let remainder = folded;
  for (const word of COMMON_PASSWORDS) remainder = remainder.replaceAll(word, "");
  return remainder !== folded && stripDigitsAndPunctuation(remainder).length < 4;
}

/** Without the digits and signs that are put around words. */
function stripDigitsAndPunctuation(text: string): string {
  return text.replaceAll(/[\d\s!-/:-@[-`{-~]/g, "");
}
