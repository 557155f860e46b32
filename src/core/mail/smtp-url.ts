/** Parses SMTP_URL: `smtp://user:password@host:587` or `smtps://…`. */

export interface SmtpServer {
  readonly host: string;
  readonly port: number;
  /** `tls`: from the first byte. `starttls`: required before login and mail. `off`: no encryption. */
  readonly encryption: "tls" | "starttls" | "off";
  readonly credentials: { readonly user: string; readonly password: string } | null;
}

const DEFAULT_PORTS = new Map([
  ["smtp:", 587],
  ["smtps:", 465],
]);
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/**
 * Encryption is off for a server on this machine and with `?tls=off`, and required otherwise. Returns null if `text` is not
 * an SMTP URL.
 */
export function parseSmtpUrl(text: string): SmtpServer | null {
  const url = URL.parse(text);
  const defaultPort = url && DEFAULT_PORTS.get(url.protocol);
  if (!defaultPort || url.hostname === "" || url.hash !== "") return null;
  if (url.pathname !== "" && url.pathname !== "/") return null;
  if (url.search !== "" && url.search !== "?tls=off") return null;
  const isImplicit = url.protocol === "smtps:";
  const isOff = url.search !== "" || LOOPBACK.test(url.hostname);
  if (isImplicit && url.search !== "") return null;
  return {
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port === "" ? defaultPort : Number(url.port),
    encryption: isImplicit ? "tls" : isOff ? "off" : "starttls",
    credentials: credentialsOf(url),
  };
}

function credentialsOf({ username, password }: URL): SmtpServer["credentials"] {
  if (username === "") return null;
  return { user: decode(username), password: decode(password) };
}

/** Text with invalid percent-encoding is used as it is: a password may contain a single `%`. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
