/** Where mails are handed over: `smtp://user:password@host:587`, `smtps://…`, and whether that must be encrypted. */

export interface SmtpServer {
  readonly host: string;
  readonly port: number;
  /** `tls` from the first byte, `starttls` before anything is told, `off`: nothing is encrypted. */
  readonly encryption: "tls" | "starttls" | "off";
  readonly credentials: { readonly user: string; readonly password: string } | null;
}

const DEFAULT_PORTS = { "smtp:": 587, "smtps:": 465 } as const;
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/**
 * Encrypted unless the server is on this machine, or `?tls=off` says that the way to it is safe. Null where `text` is no such
 * address.
 */
export function parseSmtpUrl(text: string): SmtpServer | null {
  const url = URL.parse(text);
  if (!url || !isProtocol(url.protocol) || url.hostname === "" || url.hash !== "") return null;
  if (url.pathname !== "" && url.pathname !== "/") return null;
  if (url.search !== "" && url.search !== "?tls=off") return null;
  const isImplicit = url.protocol === "smtps:";
  const isOff = url.search !== "" || LOOPBACK.test(url.hostname);
  if (isImplicit && url.search !== "") return null;
  return {
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port === "" ? DEFAULT_PORTS[url.protocol] : Number(url.port),
    encryption: isImplicit ? "tls" : isOff ? "off" : "starttls",
    credentials: credentialsOf(url),
  };
}

function isProtocol(protocol: string): protocol is keyof typeof DEFAULT_PORTS {
  return Object.hasOwn(DEFAULT_PORTS, protocol);
}

function credentialsOf({ username, password }: URL): SmtpServer["credentials"] {
  if (username === "") return null;
  return { user: decode(username), password: decode(password) };
}

/** What is no percent-encoding is taken as it stands: a password may hold a lone `%`. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
