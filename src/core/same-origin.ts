/**
 * Same-origin checks against cross-site request forgery. A browser sends cookies with cross-site requests too, but names the
 * page's origin in a header that scripts cannot change.
 */

import { isLoopback } from "./network.ts";

/** Header values by lower-case name, as in Node's `IncomingMessage`. */
export type OriginHeaders = Readonly<Record<string, string | string[] | undefined>> & {
  readonly cookie?: string | undefined;
};

/** True if a page of this service sent the request. With `publicUrl` null, the `Host` header names the service. */
export function isSameOrigin(headers: OriginHeaders, publicUrl: string | null): boolean {
  const site = headers["sec-fetch-site"];
  if (site !== undefined) return site === "same-origin";
  const { origin, host } = headers;
  if (typeof origin !== "string" || !URL.canParse(origin)) return false;
  const sender = new URL(origin);
  const service = publicUrl === null ? null : new URL(publicUrl);
  if (service && sender.host === service.host) return sender.origin === service.origin;
  return sender.host === host && (sender.protocol === "http:" || sender.protocol === "https:");
}

/**
 * True if a browser would store a `Secure` cookie for the page that sent the request: the page uses https or runs on this
 * machine. Also true without an `Origin` header.
 */
export function supportsSecureCookies({ origin }: OriginHeaders): boolean {
  if (typeof origin !== "string" || !URL.canParse(origin)) return true;
  const { protocol, hostname } = new URL(origin);
  return protocol === "https:" || isLoopback(hostname);
}
