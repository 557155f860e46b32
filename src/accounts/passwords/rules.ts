/** Password rules: a length, and no common passwords. No composition rules, as in NIST SP 800-63B, 3.1.1.2. */
import { badRequest } from "../../core/errors.ts";

export const MIN_PASSWORD_LENGTH = 12;
export const MAX_PASSWORD_LENGTH = 128;

/** Lower-case words from the most common passwords. Short passwords needn't be listed, as the minimum length rejects them. */
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

/** Throws BadRequestException for `field` if a user with this e-mail address may not have this password. */
export function checkPassword(password: string, email: string, field = "password"): void {
  const message = passwordProblem(password, email);
  if (message !== null) throw badRequest([{ location: "body", field, code: "invalid_value", message }]);
}

function passwordProblem(password: string, email: string): string | null {
  const length = Array.from(password).length;
  if (length < MIN_PASSWORD_LENGTH) return `must have at least ${MIN_PASSWORD_LENGTH} characters`;
  if (length > MAX_PASSWORD_LENGTH) return `must have at most ${MAX_PASSWORD_LENGTH} characters`;
  if (password.includes("\0") || !password.isWellFormed()) return "must be text";
  const folded = password.normalize("NFC").toLowerCase();
  if (isEmailAddress(folded, email.toLowerCase())) return "must not be your e-mail address";
  return isCommon(folded) ? "is too easy to guess: it is a common password or repeats few characters" : null;
}

/** True for the e-mail address, or its part before the @ even with digits and punctuation added. */
function isEmailAddress(folded: string, email: string): boolean {
  const mailbox = stripDigitsAndPunctuation(email.split("@")[0] ?? "");
  return folded === email || (mailbox !== "" && stripDigitsAndPunctuation(folded) === mailbox);
}

/** True for fewer than 5 different characters, or if fewer than 4 letters remain without common words, digits and punctuation. */
function isCommon(folded: string): boolean {
  if (new Set(folded).size < 5) return true;
  let remainder = folded;
  for (const word of COMMON_PASSWORDS) remainder = remainder.replaceAll(word, "");
  return remainder !== folded && stripDigitsAndPunctuation(remainder).length < 4;
}

/** Removes digits, whitespace and ASCII punctuation. */
function stripDigitsAndPunctuation(text: string): string {
  return text.replaceAll(/[\d\s!-/:-@[-`{-~]/g, "");
}
