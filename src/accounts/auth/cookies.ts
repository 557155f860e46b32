/** The two cookies of signing in. `__Host-`: set by this host alone, for all of it, and never sent in the clear. */
import { createHmac, timingSafeEqual } from "node:crypto";

export const SESSION_COOKIE = "__Host-waymark_session";
export const TWO_FACTOR_COOKIE = "__Host-waymark_two_factor";
/** The library's others: never let out. */
export const UNUSED_COOKIE_PREFIX = "__Host-waymark_unused";

export const cookieAttributes = { secure: true, httpOnly: true, sameSite: "lax", path: "/" } as const;

/** Longer is none of ours, and costs more to look at. */
const MAX_COOKIE_VALUE_LENGTH = 512;

/** A `Set-Cookie` that takes the cookie away. */
export function expiredCookie(name: string): string {
  return `${name}=; Max-Age=0; Path=/; HttpOnly; Secure; SameSite=Lax`;
}

/** Of the library's `Set-Cookie`s, those of the two. */
export function pickAuthCookies(headers: Headers): string[] {
  return headers
    .getSetCookie()
    .filter((text) => text.startsWith(`${SESSION_COOKIE}=`) || text.startsWith(`${TWO_FACTOR_COOKIE}=`));
}

/** The value that was signed with `key`, or null where the cookie is absent, damaged or signed by somebody else. */
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

/** A `Set-Cookie` whose value `signedValue` returns. */
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
