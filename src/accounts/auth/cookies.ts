/** Our cookies. Browsers accept a `__Host-` cookie only over HTTPS, for exactly this host and for all paths. */
import { createHmac, timingSafeEqual } from "node:crypto";
import { parseCookies } from "better-auth/cookies";

/** Of the library's other cookies. */
export const COOKIE_PREFIX = "__Host-waymark";
export const SESSION_COOKIE = "__Host-waymark_session";
export const TWO_FACTOR_COOKIE = "__Host-waymark_two_factor";

export const cookieAttributes = { secure: true, httpOnly: true, sameSite: "lax", path: "/" } as const;

/** Returns the value, or null if the cookie is missing, malformed or not signed with `key`, as the library signs it. */
export function readSignedCookie(cookie: string | undefined, name: string, key: string): string | null {
  const text = parseCookies(cookie ?? "").get(name) ?? "";
  const dot = text.lastIndexOf(".");
  if (dot < 1) return null;
  const signed = text.slice(0, dot);
  const signature = Buffer.from(text.slice(dot + 1), "base64");
  const expectedSignature = createHmac("sha256", key).update(signed).digest();
  return signature.length === expectedSignature.length && timingSafeEqual(signature, expectedSignature)
    ? signed
    : null;
}
