/**
 * The session and two-factor cookies. Browsers accept a `__Host-` cookie only over HTTPS, for exactly this host and for
 * all paths.
 */
import { createHmac, timingSafeEqual } from "node:crypto";

export const SESSION_COOKIE = "__Host-waymark_session";
export const TWO_FACTOR_COOKIE = "__Host-waymark_two_factor";
/** For the library's other cookies, which are never sent. */
export const UNUSED_COOKIE_PREFIX = "__Host-waymark_unused";

export const cookieAttributes = { secure: true, httpOnly: true, sameSite: "lax", path: "/" } as const;

/** Our cookies are shorter. */
const MAX_COOKIE_VALUE_LENGTH = 512;

/** Returns a `Set-Cookie` text that deletes the cookie. */
export function expiredCookie(name: string): string {
  return `${name}=; Max-Age=0; Path=/; HttpOnly; Secure; SameSite=Lax`;
}

/** Returns the `Set-Cookie` texts of our two cookies. */
export function pickAuthCookies(headers: Headers): string[] {
  return headers
    .getSetCookie()
    .filter((text) => text.startsWith(`${SESSION_COOKIE}=`) || text.startsWith(`${TWO_FACTOR_COOKIE}=`));
}

/** Returns the value, or null if the cookie is missing, malformed or not signed with `key`. */
export function readSignedCookie(cookie: string | undefined, name: string, key: string): string | null {
  const value = findCookieValue(cookie, name);
  if (value === null || value.length > MAX_COOKIE_VALUE_LENGTH) return null;
  const text = decodeOrEmpty(value);
  const dot = text.lastIndexOf(".");
  if (dot < 1) return null;
  const signed = text.slice(0, dot);
  const signature = Buffer.from(text.slice(dot + 1), "base64");
  const expectedSignature = createHmac("sha256", key).update(signed).digest();
  return signature.length === expectedSignature.length && timingSafeEqual(signature, expectedSignature)
    ? signed
    : null;
}

/** Returns a `Set-Cookie` text that `readSignedCookie` can verify. */
export function createSignedCookie(cookie: {
  name: string;
  value: string;
  key: string;
  maxAgeS: number;
}): string {
  const { name, value, key, maxAgeS } = cookie;
  const signature = createHmac("sha256", key).update(value).digest("base64");
  const signed = encodeURIComponent(`${value}.${signature}`);
  return `${name}=${signed}; Max-Age=${maxAgeS}; Path=/; HttpOnly; Secure; SameSite=Lax`;
}

function findCookieValue(cookie: string | undefined, name: string): string | null {
  for (const part of cookie?.split(";") ?? []) {
    const equals = part.indexOf("=");
    if (part.slice(0, equals).trim() === name) return part.slice(equals + 1).trim();
  }
  return null;
}

function decodeOrEmpty(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return "";
  }
}
