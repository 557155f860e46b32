/**
 * Names to addresses, for requests that we send. DNS is asked directly and not through getaddrinfo, which holds one of
 * Node's four threads for as long as a dead name server takes: four dead names would stop every other look-up.
 */
import { lookup, Resolver } from "node:dns/promises";

/** All addresses of `hostname`, IPv4 first. Rejects with a NameError where there is none. */
export type ResolveHostname = (hostname: string) => Promise<readonly string[]>;

/**
 * Thrown for a name that nothing may be sent to. `message` is a predicate for the endpoint's owner and the same for every reason,
 * so that it does not reveal whether a name exists in our network. `reason` and `addresses` are for the operator.
 */
export class DnsError extends Error {
  override readonly name = "NameError";
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
  /** For both families together; what has come by then counts. */
  timeoutMs?: number;
}

/** Asks DNS for both families at once. Questions for a name that is being asked for already share its answer. */
export function createDnsResolver({
  resolver = createResolver(),
  timeoutMs = 4_000,
}: DnsOptions = {}): ResolveHostname {
  const inFlight = new Map<string, Promise<readonly string[]>>();

  const resolveBothFamilies = async (hostname: string): Promise<readonly string[]> => {
    const found: [v4: string[], v6: string[]] = [[], []];
    const errors: unknown[] = [];
    const fail = (error: unknown): number => errors.push(error);
    const timeout = Promise.withResolvers<void>();
    const timer = setTimeout(timeout.resolve, timeoutMs);
    await Promise.race([
      Promise.all([
        resolver.resolve4(hostname).then((addresses) => found[0].push(...addresses), fail),
        resolver.resolve6(hostname).then((addresses) => found[1].push(...addresses), fail),
      ]),
      timeout.promise,
    ]);
    clearTimeout(timer);
    const addresses = found.flat();
    if (addresses.length > 0) return addresses;
    const known = errors.length === 2 && errors.every(isNotFound);
    throw new DnsError(known ? "not_found" : "no_answer", { cause: errors[0] });
  };

  return (hostname) => {
    const waiting = inFlight.get(hostname);
    if (waiting) return waiting;
    const answer = resolveBothFamilies(hostname).finally(() => inFlight.delete(hostname));
    inFlight.set(hostname, answer);
    return answer;
  };
}

/** DNS, and then whatever else the machine knows names by (/etc/hosts, mDNS): for receivers of one's own. */
export function createLocalResolver(first: ResolveHostname = createDnsResolver()): ResolveHostname {
  return async (hostname) => {
    try {
      return await first(hostname);
    } catch (error) {
      const found = await lookup(hostname, { all: true, order: "ipv4first" }).catch(() => []);
      if (found.length === 0) throw error;
      return found.map(({ address }) => address);
    }
  };
}

function createResolver(): Resolver {
  return new Resolver({ timeout: 1_500, tries: 2 });
}

function isNotFound(error: unknown): boolean {
  return error instanceof Error && "code" in error && NOT_FOUND.has(error.code);
}
