/**
 * Resolves host names for outgoing requests. It queries DNS directly: getaddrinfo blocks one of Node's four threads until a
 * dead name server times out, so four dead names would block every other lookup.
 */
import { lookup, Resolver } from "node:dns/promises";
import { singleFlightByKey } from "../concurrency/single-flight.ts";
import { withTimeout } from "../concurrency/timeout.ts";

/** Resolves to all IP addresses of `hostname`, IPv4 first. Rejects with a DnsError if it has none. */
export type ResolveHostname = (hostname: string) => Promise<readonly string[]>;

/**
 * A name that does not resolve, or resolves to a blocked IP address. `message` is for the endpoint's owner, and the same for
 * every reason so as not to reveal names of our network. `reason` and `addresses` are for the operator.
 */
export class DnsError extends Error {
  override readonly name = "DnsError";
  readonly reason: DnsErrorReason;
  readonly addresses: readonly string[];

  constructor(reason: DnsErrorReason, { cause, addresses = [] }: DnsErrorOptions = {}) {
    super("must name a public server: the name does not resolve, or not only to public IP addresses", {
      cause,
    });
    this.reason = reason;
    this.addresses = addresses;
  }
}

export type DnsErrorReason = "not_found" | "no_answer" | "not_public";

interface DnsErrorOptions {
  cause?: unknown;
  addresses?: readonly string[];
}

const NOT_FOUND: ReadonlySet<unknown> = new Set(["ENOTFOUND", "ENODATA", "EBADNAME"]);

export interface DnsOptions {
  resolver?: Pick<Resolver, "resolve4" | "resolve6">;
  /** Timeout for IPv4 and IPv6 together. Answers received until then are used. */
  timeoutMs?: number;
}

/** Returns a resolver that queries A and AAAA records in parallel. Concurrent lookups of the same name share one result. */
export function createDnsResolver({
  resolver = new Resolver({ timeout: 1_500, tries: 2 }),
  timeoutMs = 4_000,
}: DnsOptions = {}): ResolveHostname {
  const resolveBothFamilies = async (hostname: string): Promise<readonly string[]> => {
    const results: [v4: string[], v6: string[]] = [[], []];
    const errors: unknown[] = [];
    const addError = (error: unknown): number => errors.push(error);
    const queries = [
      resolver.resolve4(hostname).then((addresses) => results[0].push(...addresses), addError),
      resolver.resolve6(hostname).then((addresses) => results[1].push(...addresses), addError),
    ];
    await withTimeout(Promise.all(queries), timeoutMs);
    const addresses = results.flat();
    if (addresses.length > 0) return addresses;
    const isMissing = errors.length === 2 && errors.every(isNotFound);
    throw new DnsError(isMissing ? "not_found" : "no_answer", { cause: errors[0] });
  };

  return singleFlightByKey(resolveBothFamilies);
}

/** Returns a resolver that tries DNS, then the host's other sources (/etc/hosts, mDNS), for the operator's own receivers. */
export function createLocalResolver(first: ResolveHostname = createDnsResolver()): ResolveHostname {
  return async (hostname) => {
    try {
      return await first(hostname);
    } catch (error) {
      const results = await lookup(hostname, { all: true, order: "ipv4first" }).catch(() => []);
      if (results.length === 0) throw error;
      return results.map(({ address }) => address);
    }
  };
}

function isNotFound(error: unknown): boolean {
  return error instanceof Error && "code" in error && NOT_FOUND.has(error.code);
}
