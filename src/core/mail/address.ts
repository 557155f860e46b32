/** Validation of e-mail addresses and of other text that goes into mail headers. */
import { z } from "zod";
import type { MailAddress } from "./mailer.ts";

/**
 * Exactly one e-mail address, in any alphabet: no list, display name, quotes or line breaks, which a mail server could read
 * as more recipients or headers. RFC 5321 allows 254 characters.
 */
const EMAIL_PATTERN = /^[^\s\p{Cc}\p{Cf}\p{Cs}"(),:;<>@[\\\]]+@[^\s\p{Cc}\p{Cf}\p{Cs}"(),:;<>@[\\\]]+$/u;

export const emailAddress = z
  .string()
  .max(254, "must have at most 254 characters")
  .regex(EMAIL_PATTERN, "must be an e-mail address, such as name@company.example");

/** Replaces control characters and line breaks by spaces and cuts the text at 200 characters, for use in a header. */
export function toSingleLine(text: string): string {
  return text
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ")
    .trim()
    .slice(0, 200);
}

/** Parses `name@company.example` or `Company <name@company.example>`. Returns null if `text` is neither. */
export function parseSender(text: string): MailAddress | null {
  const [, name = "", bracketed, bareAddress] = /^(?:([^<>]*)<([^<>]+)>|([^<>\s]+))$/.exec(text.trim()) ?? [];
  const address = emailAddress.safeParse(bracketed?.trim() ?? bareAddress);
  return address.success
    ? { name: toSingleLine(name).replace(/^"(.*)"$/, "$1"), address: address.data }
    : null;
}
