/**
 * Whether a request was sent by a page of our own. A browser adds a cookie whoever has it send the request, but it says
 * truthfully where that was.
 */

/** Header values by lower-case name, as Node has them. */
export type OriginHeaders = Readonly<Record<string, string | string[] | undefined>> & {
  readonly cookie?: string | undefined;
};

/** `publicUrl`: the address that people use; null: whichever the request names. */
export function isSameOrigin(headers: OriginHeaders, publicUrl: string | null): boolean {
  const site = headers["sec-fetch-site"];
  if (site !== undefined) return site === "same-origin";
  const { origin, host } = headers;
  if (typeof origin !== "string" || !URL.canParse(origin)) return false;
  const from = new URL(origin);
  const own = publicUrl === null ? null : new URL(publicUrl);
  if (own && from.host === own.host) return from.origin === own.origin;
  return from.host === host && (from.protocol === "http:" || from.protocol === "https:");
}

/**
 * Whether a browser would keep a `Secure` cookie for the page that sent the request: by https, or on the same machine.
 * True where the page is not told: browsers name themselves only from there.
 */
export function supportsSecureCookies({ origin }: OriginHeaders): boolean {
  if (typeof origin !== "string" || !URL.canParse(origin)) return true;
  const { protocol, hostname } = new URL(origin);
  return protocol === "https:" || LOOPBACK_HOST.test(hostname);
}

const LOOPBACK_HOST = /^(localhost|.+\.localhost|127(\.\d{1,3}){3}|\[::1\])$/;
