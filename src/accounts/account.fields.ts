/** What accounts are asked with: addresses, names and words, each bounded, with nothing in it that text cannot show. */
import { domainToASCII } from "node:url";
import { z } from "zod";
import { emailAddress } from "../platform/mail/address.ts";
import { badRequest } from "../platform/errors.ts";
import { toProblems } from "../platform/zod-problems.ts";

const MAX_EMAIL_INPUT_LENGTH = 300;
const MAX_NAME_LENGTH = 120;
const MAX_VIEW_NAME_LENGTH = 60;
/** Of a message, a question, an answer, a reason or a note. */
const MAX_FREE_TEXT_LENGTH = 2_000;

/** Controls, line breaks, and what turns the order of reading around: `invoice\u202Efdp.exe` reads as another name. */
const FORBIDDEN_IN_LINE = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u202a-\u202e\u2066-\u2069]/u;
/** The same, but for tabs and line feeds. */
const FORBIDDEN_IN_TEXT = /[\p{Cs}\u2028\u2029\u202a-\u202e\u2066-\u2069]|(?![\t\n])\p{Cc}/u;

/** As it is kept: without what surrounds it, in small letters, so that one mailbox is one account. */
export const accountEmail = z
  .string({ error: "must be a string" })
  .max(MAX_EMAIL_INPUT_LENGTH, { error: "must have at most 254 characters" })
  .transform(normalizeEmail)
  .pipe(emailAddress)
  // What the library takes when somebody signs in (better-auth's own check): no account that could never be entered.
  .pipe(z.email({ error: "must be an e-mail address, such as name@company.example" }));

/** With a letter of another alphabet, and with nothing that would make it the beginning of something longer. */
const INTERNATIONAL_DOMAIN = /^(?=.*[^a-z\d.-])[\p{L}\p{M}\p{N}.-]+$/u;

/** One mailbox has one spelling: small letters, and a domain of other alphabets as DNS has it. */
export function normalizeEmail(text: string): string {
  const folded = text.trim().normalize("NFC").toLowerCase();
  const domainStart = folded.lastIndexOf("@") + 1;
  const domain = folded.slice(domainStart);
  return INTERNATIONAL_DOMAIN.test(domain) ? folded.slice(0, domainStart) + domainToASCII(domain) : folded;
}

/** A person's. */
export const userNameField = singleLine(MAX_NAME_LENGTH);

/** The name of an organisation: one line. */
export const organizationNameField = singleLine(MAX_NAME_LENGTH);

/** The name of a view that somebody keeps: one line. */
export const savedViewNameField = singleLine(MAX_VIEW_NAME_LENGTH);

/** What somebody writes to somebody: it may have paragraphs. */
export const freeText = z
  .string({ error: "must be a string" })
  .transform((text) => text.replaceAll(/\r\n?/g, "\n").trim())
  .refine((text) => text !== "", { error: "must not be empty" })
  .refine((text) => codePointLength(text) <= MAX_FREE_TEXT_LENGTH, {
    error: `must be at most ${MAX_FREE_TEXT_LENGTH} characters`,
  })
  .refine((text) => !FORBIDDEN_IN_TEXT.test(text), { error: "must not contain control characters" });

/** Throws BadRequestException with every problem. `field`: what the value is called where it came from; empty: it is an object. */
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
  return z
    .string({ error: "must be a string" })
    .transform((text) => text.trim().normalize("NFC"))
    .refine((text) => text !== "", { error: "must not be empty" })
    .refine((text) => codePointLength(text) <= max, { error: `must be at most ${max} characters` })
    .refine((text) => !FORBIDDEN_IN_LINE.test(text), {
      error: "must be one line, without control characters",
    });
}

/** In code points, as PostgreSQL counts them. Texts that are much too long are not counted out. */
function codePointLength(text: string): number {
  return text.length > 4 * MAX_FREE_TEXT_LENGTH ? text.length : Array.from(text).length;
}
