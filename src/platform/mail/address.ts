/** What a mail's fields may hold: checked again here, whoever checked before, since they become headers. */
import { z } from "zod";
import type { MailAddress } from "./mailer.ts";

/**
 * One address, and nothing that a mail server or a mailer could read as more: no list, no name, no line break. Letters of
 * any alphabet are fine. RFC 5321 allows 254 characters.
 */
const EMAIL_PATTERN = /^[^\s\p{Cc}\p{Cf}\p{Cs}"(),:;<>@[\\\]]+@[^\s\p{Cc}\p{Cf}\p{Cs}"(),:;<>@[\\\]]+$/u;

export const emailAddress = z
  .string()
  .max(254, "must have at most 254 characters")
  .regex(EMAIL_PATTERN, "must be an e-mail address, such as name@company.example");

/** A header has one line; what would break it becomes a space. */
export function toSingleLine(text: string): string {
  return text
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ")
    .trim()
    .slice(0, 200);
}

/** `name@company.example`, or `Company <name@company.example>`; null where it is neither. */
export function parseSender(text: string): MailAddress | null {
  const [, name = "", bracketed, bareAddress] = /^(?:([^<>]*)<([^<>]+)>|([^<>\s]+))$/.exec(text.trim()) ?? [];
  const address = emailAddress.safeParse(bracketed?.trim() ?? bareAddress);
  return address.success
    ? { name: toSingleLine(name).replace(/^"(.*)"$/, "$1"), address: address.data }
    : null;
}
