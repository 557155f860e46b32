/** E-mail addresses and other text of mail headers, and the settings MAIL_FROM and SMTP_URL. */
import { z } from "zod";
import { isLoopback } from "./network.ts";

export interface MailAddress {
  readonly name: string;
  readonly address: string;
}

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

/** Options of nodemailer. */
export interface SmtpServer {
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte. */
  readonly secure: boolean;
  /** STARTTLS is required before login and mail. */
  readonly requireTLS: boolean;
  readonly ignoreTLS: boolean;
  readonly auth?: { readonly user: string; readonly pass: string };
}

/**
 * Parses `smtp://user:password@host:587` or `smtps://…`. Encryption is off for a server on this machine and with `?tls=off`, and
 * required otherwise. Returns null if `text` is not an SMTP URL.
 */
export function parseSmtpUrl(text: string): SmtpServer | null {
  const url = URL.parse(text);
  if (!url || !/^smtps?:$/.test(url.protocol) || url.hostname === "") return null;
  const { hostname, port, pathname, search, hash, username, password } = url;
  const secure = url.protocol === "smtps:";
  if (!/^\/?$/.test(pathname + hash)) return null;
  if (search !== "" && (secure || search !== "?tls=off")) return null;
  const isOff = search !== "" || isLoopback(hostname);
  return {
    host: hostname.replace(/^\[|\]$/g, ""),
    port: Number(port) || (secure ? 465 : 587),
    secure,
    requireTLS: !secure && !isOff,
    ignoreTLS: !secure && isOff,
    ...(username !== "" && { auth: { user: decode(username), pass: decode(password) } }),
  };
}

/** Returns text with invalid percent-encoding unchanged: a password may contain a single `%`. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
