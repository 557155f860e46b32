/**
 * Resolves host names for outgoing requests. It queries DNS directly: getaddrinfo blocks one of Node's four threads until a
 * dead name server times out, so four dead names would block every other lookup.
 */
import { lookup, Resolver } from "node:dns/promises";
import { singleFlightByKey } from "../concurrency/single-flight.ts";
import { withTimeout } from "../concurrency/timeout.ts";

const NOT_FOUND = new Set(["ENOTFOUND", "ENODATA", "EBADNAME"]);

/** Resolves to all IP addresses of `hostname`, IPv4 first. Rejects with a DnsError if it has none. */
export type ResolveHostname = (hostname: string) => Promise<readonly string[]>;

/**
 * A name that does not resolve, or resolves to a blocked IP address. `message` is for the endpoint's owner, and the same for
 * every reason so as not to reveal names of our network. `reason` and `addresses` are for the operator.
 */
export class DnsError extends Error {
  override readonly name = "DnsError";
  readonly reason: "not_found" | "no_answer" | "not_public";
  readonly addresses: readonly string[];

  constructor(reason: DnsError["reason"], addresses: readonly string[] = []) {
    super("must name a public server: the name does not resolve, or not only to public IP addresses");
    this.reason = reason;
    this.addresses = addresses;
  }
}

interface DnsOptions {
  resolver?: Pick<Resolver, "resolve4" | "resolve6">;
  /** Timeout for IPv4 and IPv6 together. Answers received until then are used. */
  timeoutMs?: number;
}

/** Returns a resolver that queries A and AAAA records in parallel. Concurrent lookups of the same name share one result. */
export function createDnsResolver({
  resolver = new Resolver({ timeout: 1_500, tries: 2 }),
  timeoutMs = 4_000,
}: DnsOptions = {}): ResolveHostname {
  return singleFlightByKey(async (hostname: string): Promise<readonly string[]> => {
    const errors: NodeJS.ErrnoException[] = [];
    const onError = (error: NodeJS.ErrnoException): void => void errors.push(error);
    const results: string[][] = [];
    const queries = [
      resolver.resolve4(hostname).then((addresses) => results.unshift(addresses), onError),
      resolver.resolve6(hostname).then((addresses) => results.push(addresses), onError),
    ];
    await withTimeout(Promise.all(queries), timeoutMs);
    const addresses = results.flat();
    if (addresses.length > 0) return addresses;
    const isMissing = errors.length === 2 && errors.every(({ code = "" }) => NOT_FOUND.has(code));
    throw new DnsError(isMissing ? "not_found" : "no_answer");
  });
}

/** Returns a resolver that tries DNS, then the host's other sources (/etc/hosts, mDNS), for the operator's own receivers. */
export function createLocalResolver(): ResolveHostname {
  const first = createDnsResolver();
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
