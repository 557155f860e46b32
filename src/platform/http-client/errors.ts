/** Why no answer came: an error of the network, DNS or TLS as a class and a sentence for whoever owns the receiver. */
import { errors } from "undici";
import { BlockedAddressError } from "./address-guard.ts";
import { DnsError } from "./dns-resolver.ts";

export type FailureClass =
  | "dns"
  | "connect_refused"
  | "connect_timeout"
  | "tls"
  | "timeout"
  | "reset"
  | "blocked_address"
  | "invalid_response";

export interface RequestFailure {
  class: FailureClass;
  /** What is wrong and what would be right. Names the host of the URL, never an address behind it. */
  message: string;
}

export interface FailureContext {
  /** Host and port as the URL has them. */
  host: string;
  /** Whether the connection stood, TLS included, when it failed. */
  connected: boolean;
  secure: boolean;
  connectTimeoutMs: number;
}

const CERTIFICATE_HINTS: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: "is self-signed. Use one of a public certificate authority",
  SELF_SIGNED_CERT_IN_CHAIN: "is signed by a private authority. Use one of a public certificate authority",
  CERT_HAS_EXPIRED: "has expired. Renew it",
  CERT_NOT_YET_VALID: "is not valid yet. Check its dates and the server's clock",
  ERR_TLS_CERT_ALTNAME_INVALID: "is for another name. Use one that names this host",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "comes without its intermediate certificates. Send the full chain",
  UNABLE_TO_GET_ISSUER_CERT: "comes without its intermediate certificates. Send the full chain",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "is of an unknown authority, or comes without its full chain",
};
const CONNECT_TIMEOUT = new Set(["UND_ERR_CONNECT_TIMEOUT", "ETIMEDOUT"]);
const UNREACHABLE = new Set(["EHOSTUNREACH", "ENETUNREACH", "EADDRNOTAVAIL", "EACCES", "EPERM"]);
const INVALID_RESPONSE = new Set(["UND_ERR_HEADERS_OVERFLOW", "UND_ERR_RES_CONTENT_LENGTH_MISMATCH"]);
/** undici's own words for a `100` or `101` that nobody asked for, and for bytes after an answer. */
const INVALID_MESSAGES = new Set(["bad response", "bad upgrade"]);

export function classifyError(error: unknown, context: FailureContext): RequestFailure {
  const cause = firstCause(error);
  if (cause instanceof BlockedAddressError)
    return { class: "blocked_address", message: `The endpoint's URL ${cause.message}.` };
  if (cause instanceof DnsError)
    return {
      class: "dns",
      message: `The endpoint's URL ${cause.message}. Check its spelling and its DNS records.`,
    };
  return context.connected ? classifyResponseError(cause, context) : classifyConnectError(cause, context);
}

/** The whole attempt took too long. */
export function timeoutFailure(limitMs: number, answered: boolean): RequestFailure {
  const what = answered ? "The answer began, but did not end" : "No answer came";
  return {
    class: "timeout",
    message: `${what} within ${formatSeconds(limitMs)}. Answer with 2xx first, and do the work afterwards.`,
  };
}

/** The connection did not stand in time. */
export function connectTimeoutFailure(host: string, limitMs: number): RequestFailure {
  return {
    class: "connect_timeout",
    message: `No connection to ${host} within ${formatSeconds(limitMs)}. Check that its firewall lets requests in.`,
  };
}

function classifyConnectError(cause: NodeJS.ErrnoException, context: FailureContext): RequestFailure {
  const { host, secure } = context;
  const code = cause.code ?? "";
  if (CONNECT_TIMEOUT.has(code)) return connectTimeoutFailure(host, context.connectTimeoutMs);
  if (code === "ECONNREFUSED")
    return {
      class: "connect_refused",
      message: `${host} refused the connection. Is the receiver running, and its port open?`,
    };
  if (UNREACHABLE.has(code))
    return {
      class: "connect_refused",
      message: `${host} cannot be reached. Check its DNS records and firewall.`,
    };
  return secure ? tlsFailure(code, host) : connectionReset(host);
}

function tlsFailure(code: string, host: string): RequestFailure {
  const certificate = CERTIFICATE_HINTS[code];
  if (certificate) return { class: "tls", message: `The certificate of ${host} ${certificate}.` };
  if (code === "ECONNRESET" || code === "EPIPE")
    return { class: "tls", message: `${host} closed the connection during the TLS handshake.` };
  return {
    class: "tls",
    message: `The TLS handshake with ${host} failed (${code || "no reason given"}). Does that port speak https, with TLS 1.2 or later?`,
  };
}

function classifyResponseError(cause: NodeJS.ErrnoException, { host }: FailureContext): RequestFailure {
  const code = cause.code ?? "";
  const invalid = cause instanceof errors.HTTPParserError || INVALID_RESPONSE.has(code);
  if (invalid || INVALID_MESSAGES.has(cause.message))
    return {
      class: "invalid_response",
      message: `The answer of ${host} is not valid HTTP/1.1, or its headers are larger than 16 KiB.`,
    };
  return connectionReset(host);
}

function connectionReset(host: string): RequestFailure {
  return {
    class: "reset",
    message: `${host} closed the connection before it had answered in full. Did the receiver stop or restart?`,
  };
}

/** A host with several addresses fails with all their errors at once. */
function firstCause(error: unknown): NodeJS.ErrnoException {
  if (error instanceof AggregateError && error.errors.length > 0) return firstCause(error.errors[0]);
  return error instanceof Error ? error : new Error(String(error));
}

function formatSeconds(ms: number): string {
  return `${ms / 1000} s`;
}
