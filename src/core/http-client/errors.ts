/** Classifies network, DNS, TLS and HTTP errors, with a message for the endpoint's owner. */
import { errors } from "undici";
import { BlockedAddressError, ConnectError } from "./address-guard.ts";
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
  /** Says what is wrong and how to fix it. Contains the URL's host, never the IP addresses it resolves to. */
  message: string;
}

interface FailureContext {
  /** Host and port from the URL. */
  host: string;
  secure: boolean;
  connectTimeoutMs: number;
}

const CERTIFICATE_HINTS: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: "is self-signed. Use one from a public certificate authority",
  SELF_SIGNED_CERT_IN_CHAIN: "is signed by a private authority. Use one from a public certificate authority",
  CERT_HAS_EXPIRED: "has expired. Renew it",
  CERT_NOT_YET_VALID: "is not valid yet. Check its dates and the server's clock",
  ERR_TLS_CERT_ALTNAME_INVALID: "is for another name. Use one that names this host",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "lacks its intermediate certificates. Send the full chain",
  UNABLE_TO_GET_ISSUER_CERT: "lacks its intermediate certificates. Send the full chain",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    "has an unknown issuer. Send the full chain, from a public certificate authority",
};
const CONNECT_TIMEOUT = new Set(["UND_ERR_CONNECT_TIMEOUT", "ETIMEDOUT"]);
const UNREACHABLE = new Set(["EHOSTUNREACH", "ENETUNREACH", "EADDRNOTAVAIL", "EACCES", "EPERM"]);
const INVALID_RESPONSE = new Set(["UND_ERR_HEADERS_OVERFLOW", "UND_ERR_RES_CONTENT_LENGTH_MISMATCH"]);
/** undici's messages for an unexpected `100` or `101` response, and for bytes after a response. */
const INVALID_MESSAGES = new Set(["bad response", "bad upgrade"]);

export function classifyError(error: unknown, context: FailureContext): RequestFailure {
  const { host } = context;
  const cause = firstCause(error instanceof ConnectError ? error.cause : error);
  const code = cause.code ?? "";
  if (cause instanceof BlockedAddressError) return blockedUrl(cause.message);
  if (cause instanceof DnsError)
    return failure("dns", `The endpoint's URL ${cause.message}. Check its spelling and its DNS records.`);
  if (error instanceof ConnectError) return classifyConnectError(code, error.isReached, context);
  const isInvalid = cause instanceof errors.HTTPParserError || INVALID_RESPONSE.has(code);
  return isInvalid || INVALID_MESSAGES.has(cause.message)
    ? failure(
        "invalid_response",
        `The response of ${host} is not valid HTTP/1.1, or its headers exceed 16 KiB.`,
      )
    : connectionReset(host);
}

function failure(failureClass: FailureClass, message: string): RequestFailure {
  return { class: failureClass, message };
}

/** `problem`: a predicate, such as `must begin with https://`. */
export function blockedUrl(problem: string): RequestFailure {
  return failure("blocked_address", `The endpoint's URL ${problem}.`);
}

/** The failure of an attempt that exceeded its total time limit. `hasResponseBegun`: headers or a part of them had arrived. */
export function timeoutFailure(limitMs: number, hasResponseBegun: boolean): RequestFailure {
  const event = hasResponseBegun ? "The response began but did not end" : "No response";
  return failure("timeout", `${event} within ${limitMs / 1000} s. Answer with 2xx before doing the work.`);
}

function classifyConnectError(
  code: string,
  isReached: boolean,
  { host, secure, connectTimeoutMs }: FailureContext,
): RequestFailure {
  const limit = `${connectTimeoutMs / 1000} s`;
  if (CONNECT_TIMEOUT.has(code))
    return isReached && secure
      ? failure(
          "tls",
          `${host} accepted the connection and did not answer the TLS handshake within ${limit}. Check that this port serves https.`,
        )
      : failure(
          "connect_timeout",
          `No connection to ${host} within ${limit}. Check that its firewall allows incoming connections.`,
        );
  if (code === "ECONNREFUSED")
    return failure(
      "connect_refused",
      `${host} refused the connection. Check that the receiver is running and its port is open.`,
    );
  if (UNREACHABLE.has(code))
    return failure("connect_refused", `${host} cannot be reached. Check its DNS records and firewall.`);
  return secure ? failure("tls", tlsProblem(code, host)) : connectionReset(host);
}

function tlsProblem(code: string, host: string): string {
  const certificate = CERTIFICATE_HINTS[code];
  if (certificate) return `The certificate of ${host} ${certificate}.`;
  if (code === "ECONNRESET" || code === "EPIPE")
    return `${host} closed the connection during the TLS handshake.`;
  return `The TLS handshake with ${host} failed (${code || "no reason given"}). Check that this port serves https with TLS 1.2 or later.`;
}

function connectionReset(host: string): RequestFailure {
  return failure(
    "reset",
    `${host} closed the connection before its response was complete. Check whether the receiver stopped or restarted.`,
  );
}

/** undici rejects the request (for example a line break in a header), or we lack resources to connect. */
const CLIENT_ERROR_CODES: ReadonlySet<unknown> = new Set([
  "UND_ERR_INVALID_ARG",
  "UND_ERR_NOT_SUPPORTED",
  "EMFILE",
  "ENFILE",
  "ENOBUFS",
]);

/** True for errors on our side, which must not count against the receiver. */
export function isClientError(error: Error): boolean {
  const { code } = (error instanceof ConnectError ? error.cause : error) as NodeJS.ErrnoException;
  return CLIENT_ERROR_CODES.has(code);
}

/** A host with several IP addresses fails with an AggregateError of all their errors. */
function firstCause(error: unknown): NodeJS.ErrnoException {
  if (error instanceof AggregateError && error.errors.length > 0) return firstCause(error.errors[0]);
  return error instanceof Error ? error : new Error(String(error));
}
