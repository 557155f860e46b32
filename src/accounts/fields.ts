/** Validates user input of account features: e-mail addresses, names and free text. */
import { domainToASCII } from "node:url";
import { z } from "zod";
import { emailAddress } from "../core/mail.ts";
import { badRequest } from "../core/errors.ts";
import { toProblems } from "../core/zod-problems.ts";

const MAX_EMAIL_INPUT_LENGTH = 300;
/** For messages, questions, answers, reasons and notes, in code points as PostgreSQL counts them. */
const MAX_FREE_TEXT_LENGTH = 2_000;

/** Control characters, line breaks and bidirectional overrides: `invoice\u202Efdp.exe` is displayed as another name. */
const FORBIDDEN_IN_LINE = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u202a-\u202e\u2066-\u2069]/u;
/** As FORBIDDEN_IN_LINE, but allows tabs and line feeds. */
const FORBIDDEN_IN_TEXT = /[\p{Cs}\u2028\u2029\u202a-\u202e\u2066-\u2069]|(?![\t\n])\p{Cc}/u;

export const plainText = z.string({ error: "must be a string" });

/** Trims, lower-cases and checks an e-mail address. The result is the form that is stored. */
export const accountEmail = plainText
  .max(MAX_EMAIL_INPUT_LENGTH, { error: "must have at most 254 characters" })
  .transform(normalizeEmail)
  .pipe(emailAddress)
  // better-auth's own check at sign-in: an account whose e-mail address fails it could never sign in.
  .pipe(z.email({ error: "must be an e-mail address, such as name@company.example" }));

/** A domain with at least one non-ASCII character, and only letters, marks, digits, dots and hyphens. */
const INTERNATIONAL_DOMAIN = /^(?=.*[^a-z\d.-])[\p{L}\p{M}\p{N}.-]+$/u;

/** Lower-cases an e-mail address and converts an internationalised domain to its ASCII form. */
export function normalizeEmail(text: string): string {
  const folded = text.trim().normalize("NFC").toLowerCase();
  const domainStart = folded.lastIndexOf("@") + 1;
  const domain = folded.slice(domainStart);
  return INTERNATIONAL_DOMAIN.test(domain) ? folded.slice(0, domainStart) + domainToASCII(domain) : folded;
}

export const userNameField = singleLine(120);
export const organizationNameField = singleLine(120);
export const passkeyNameField = singleLine(60);
export const savedViewNameField = singleLine(60);

/** Text that may have several lines. */
export const freeText = plainText
  .transform((text) => text.replaceAll(/\r\n?/g, "\n").trim())
  .refine((text) => text !== "", { error: "must not be empty" })
  .refine((text) => Array.from(text).length <= MAX_FREE_TEXT_LENGTH, {
    error: `must be at most ${MAX_FREE_TEXT_LENGTH} characters`,
  })
  .refine((text) => !FORBIDDEN_IN_TEXT.test(text), { error: "must not contain control characters" });

/** Throws BadRequestException with every problem. `field`: the name of a single value in the request; empty for an object. */
export function parseOrThrow<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  field = "",
): z.output<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw badRequest(toProblems(result.error, "body", field));
}

function singleLine(max: number) {
  return plainText
    .transform((text) => text.trim().normalize("NFC"))
    .refine((text) => text !== "", { error: "must not be empty" })
    .refine((text) => Array.from(text).length <= max, { error: `must be at most ${max} characters` })
    .refine((text) => !FORBIDDEN_IN_LINE.test(text), {
      error: "must be one line, without control characters",
    });
}
