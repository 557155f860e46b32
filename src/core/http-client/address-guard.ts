/** Guards against server-side request forgery: checks webhook URLs when they are saved, and IP addresses at every connect. */
import { isIP, type LookupFunction, type Socket } from "node:net";
import { buildConnector } from "undici";
import { describeBlockedRange } from "./address-ranges.ts";
import { createDnsResolver, createLocalResolver, DnsError, type ResolveHostname } from "./dns-resolver.ts";

const MAX_URL_LENGTH = 2_048;
const LOOPBACK = ["127.0.0.1", "::1"] as const;

interface UrlProblem {
  allowed: false;
  problem: "invalid_url" | "scheme" | "userinfo" | "blocked_address" | "unresolvable";
  /** A predicate for the caller, such as `must be …`. Never contains DNS results. */
  message: string;
}

/** `url` is normalised and has no fragment. */
export type UrlVerdict = { allowed: true; url: string } | UrlProblem;

/** The error of a connect to a blocked IP address. `message` is for the endpoint's owner. */
export class BlockedAddressError extends Error {
  override readonly name = "BlockedAddressError";
}

/** The error of a connection that was not established, TLS included. `isReached`: TCP was connected. */
export class ConnectError extends Error {
  override readonly name = "ConnectError";
  readonly isReached: boolean;

  constructor(cause: Error, isReached: boolean) {
    super(cause.message, { cause });
    this.isReached = isReached;
  }
}

interface AddressGuardOptions {
  /** True: allow http, loopback and private networks, for the operator's own receivers. Metadata services stay blocked. */
  allowPrivate: boolean;
  resolve?: ResolveHostname;
  /** Called with the exact reason for each rejected name, which is hidden from the endpoint's owner. */
  onDnsError?: (hostname: string, error: DnsError) => void;
}

export class AddressGuard {
  readonly #allowPrivate: boolean;
  readonly #resolve: ResolveHostname;
  readonly #onDnsError: AddressGuardOptions["onDnsError"];

  constructor({ allowPrivate, resolve, onDnsError }: AddressGuardOptions) {
    this.#allowPrivate = allowPrivate;
    this.#resolve = resolve ?? (allowPrivate ? createLocalResolver() : createDnsResolver());
    this.#onDnsError = onDnsError;
  }

  /** Checks a URL before it is saved: its form, and the IP addresses that its host resolves to. */
  async checkUrl(text: string): Promise<UrlVerdict> {
    const url = URL.parse(text);
    if (!url) return blocked("invalid_url", "must be a URL such as https://example.com/webhooks");
    const problem = this.urlProblem(url);
    if (problem) return problem;
    url.hash = "";
    // The encoded URL is stored, and a client may send it back. Encoding makes non-ASCII letters up to nine times as long.
    const { href } = url;
    if (href.length > MAX_URL_LENGTH)
      return blocked(
        "invalid_url",
        `must not be longer than ${MAX_URL_LENGTH} characters in its encoded form, which has ${href.length}`,
      );
    const host = hostOf(url);
    try {
      if (isIP(host) === 0) await this.#resolveChecked(host);
      return { allowed: true, url: href };
    } catch (error) {
      if (error instanceof DnsError) return blocked("unresolvable", error.message);
      throw error;
    }
  }

  /** Checks a URL without DNS. Returns null if it is allowed. */
  urlProblem(url: URL): UrlProblem | null {
    const { protocol, username, password, port } = url;
    if (protocol !== "https:" && !(this.#allowPrivate && protocol === "http:"))
      return blocked("scheme", `must begin with https://${this.#allowPrivate ? " or http://" : ""}`);
    if (username !== "" || password !== "")
      return blocked("userinfo", "must not contain a user name or password; send a custom header instead");
    if (port === "0") return blocked("invalid_url", "must not name port 0");
    const host = hostOf(url);
    const address = isLocalhost(host) ? LOOPBACK[0] : host;
    const reason = isIP(address) === 0 ? null : this.blockedReason(address);
    return reason === null
      ? null
      : blocked("blocked_address", `must not point to ${host}, which is ${reason}`);
  }

  /** Returns why an IP address is blocked, or null if it is allowed. */
  blockedReason(address: string): string | null {
    const range = describeBlockedRange(address, this.#allowPrivate);
    return range === null ? null : `not a public address (${range})`;
  }

  /** Returns undici's connector, limited to allowed IP addresses. `ca`: PEM certificates in place of Node's own authorities. */
  connector(timeoutMs: number, ca: string | undefined): buildConnector.connector {
    const connect = buildConnector({
      allowH2: false,
      lookup: (...call) => void this.#lookup(...call),
      // `lookup` must return all IP addresses. Node's default of 250 ms for each is too short for distant servers.
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: 1_000,
      maxCachedSessions: 1_000,
      timeout: timeoutMs,
      ...(ca === undefined ? {} : { ca }),
    });
    return (options, callback) => {
      const host = options.hostname;
      // `net.connect` does not call `lookup` for an IP address.
      const reason = isIP(host) === 0 ? null : this.blockedReason(host);
      if (reason !== null) {
        callback(new BlockedAddressError(`must not point to ${host}, which is ${reason}`), null);
        return;
      }
      let isReached = false;
      // undici returns the socket, which its types leave out.
      const socket = connect(options, (...[error, opened]) => {
        if (error) callback(new ConnectError(error, isReached), null);
        else callback(null, opened);
      }) as unknown as Socket | undefined;
      socket?.once("connect", () => (isReached = true));
    };
  }

  /** Connects only to checked IP addresses, which protects against DNS rebinding. */
  async #lookup(...[hostname, , callback]: Parameters<LookupFunction>): Promise<void> {
    let addresses: readonly string[];
    try {
      addresses = await this.#resolveChecked(hostname);
    } catch (error) {
      callback(error as Error, "");
      return;
    }
    callback(
      null,
      addresses.map((address) => ({ address, family: isIP(address) })),
    );
  }

  /** Resolves a name to its IP addresses. Rejects with a DnsError if it has none, or a blocked one. */
  async #resolveChecked(hostname: string): Promise<readonly string[]> {
    try {
      const addresses = isLocalhost(hostname) ? LOOPBACK : await this.#resolve(hostname);
      if (addresses.some((address) => this.blockedReason(address) !== null))
        throw new DnsError("not_public", addresses);
      return addresses;
    } catch (error) {
      if (error instanceof DnsError) this.#onDnsError?.(hostname, error);
      throw error;
    }
  }
}

function blocked(problem: UrlProblem["problem"], message: string): UrlProblem {
  return { allowed: false, problem, message };
}

/** Returns the host for `net.connect`: IPv6 without brackets, a name without a trailing dot. */
function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
}

/** RFC 6761: `localhost` and its subdomains are loopback, regardless of DNS. */
function isLocalhost(hostname: string): boolean {
  return /(?:^|\.)localhost\.?$/i.test(hostname);
}
