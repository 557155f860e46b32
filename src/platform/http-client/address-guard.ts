/** Guards against server-side request forgery: checks webhook URLs when they are saved, and IP addresses at every connect. */
import type { LookupAddress, LookupOptions } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import { describeBlockedRange } from "./address-ranges.ts";
import { createDnsResolver, createLocalResolver, DnsError, type ResolveHostname } from "./dns-resolver.ts";

const MAX_URL_LENGTH = 2_048;
const LOOPBACK = ["127.0.0.1", "::1"] as const;

export type UrlProblemKind = "invalid_url" | "scheme" | "userinfo" | "blocked_address" | "unresolvable";

export interface UrlProblem {
  allowed: false;
  problem: UrlProblemKind;
  /** A predicate for the caller, such as `must be …`. Never contains DNS results. */
  message: string;
}

/** `url` is normalised and has no fragment. */
export type UrlVerdict = { allowed: true; url: string } | UrlProblem;

/** The error of a connect to a blocked IP address. `message` is for the endpoint's owner. */
export class BlockedAddressError extends Error {
  override readonly name = "BlockedAddressError";
}

export interface AddressGuard {
  /** Checks a URL before it is saved: its form, and the IP addresses that its host resolves to. */
  checkUrl(text: string): Promise<UrlVerdict>;
  /** Checks a URL without DNS. Returns null if it is allowed. */
  urlProblem(url: URL): UrlProblem | null;
  /** Returns why an IP address is blocked, or null if it is allowed. */
  blockedReason(address: string): string | null;
  /**
   * The `lookup` option of `net.connect`: resolves a name and returns only checked IP addresses, which protects against DNS
   * rebinding. `net.connect` does not call it for a host that is an IP address.
   */
  lookup: LookupFunction;
}

export interface AddressGuardOptions {
  /** True: allow http, loopback and private networks, for the operator's own receivers. Metadata services stay blocked. */
  allowPrivate: boolean;
  resolve?: ResolveHostname;
  /** Called with the exact reason for each rejected name, which is hidden from the endpoint's owner. */
  onDnsError?: (hostname: string, error: DnsError) => void;
}

interface GuardRule {
  allowPrivate: boolean;
  resolve: ResolveHostname;
  onDnsError: AddressGuardOptions["onDnsError"];
}

export function createAddressGuard({ allowPrivate, resolve, onDnsError }: AddressGuardOptions): AddressGuard {
  const rule: GuardRule = {
    allowPrivate,
    onDnsError,
    resolve: resolve ?? (allowPrivate ? createLocalResolver() : createDnsResolver()),
  };
  return {
    checkUrl: (text) => checkUrl(text, rule),
    urlProblem: (url) => urlProblem(url, rule),
    blockedReason: (address) => blockedReason(address, rule),
    lookup: (hostname, options, callback) => void answerLookup(rule, { hostname, options, callback }),
  };
}

async function checkUrl(text: string, rule: GuardRule): Promise<UrlVerdict> {
  if (text.length > MAX_URL_LENGTH)
    return blocked("invalid_url", `must not be longer than ${MAX_URL_LENGTH} characters`);
  const url = URL.parse(text);
  if (!url) return blocked("invalid_url", "must be a URL such as https://example.com/webhooks");
  const problem = urlProblem(url, rule);
  if (problem) return problem;
  url.hash = "";
  const host = hostOf(url);
  if (isIP(host) !== 0) return { allowed: true, url: url.href };
  try {
    await resolveChecked(host, rule);
    return { allowed: true, url: url.href };
  } catch (error) {
    if (error instanceof DnsError) return blocked("unresolvable", error.message);
    throw error;
  }
}

function urlProblem(url: URL, rule: GuardRule): UrlProblem | null {
  const { protocol, username, password, port } = url;
  if (protocol !== "https:" && !(rule.allowPrivate && protocol === "http:"))
    return blocked("scheme", `must begin with https://${rule.allowPrivate ? " or http://" : ""}`);
  if (username !== "" || password !== "")
    return blocked("userinfo", "must not contain a user name or password; send a custom header instead");
  if (port === "0") return blocked("invalid_url", "must not name port 0");
  const host = hostOf(url);
  const address = isLocalhost(host) ? LOOPBACK[0] : host;
  const reason = isIP(address) === 0 ? null : blockedReason(address, rule);
  return reason === null ? null : blocked("blocked_address", `must not point to ${host}, which is ${reason}`);
}

function blockedReason(address: string, { allowPrivate }: GuardRule): string | null {
  const range = describeBlockedRange(address, allowPrivate);
  return range === null ? null : `not a public address (${range})`;
}

/** Resolves a name to its IP addresses. Rejects with a DnsError if it has none, or a blocked one. */
async function resolveChecked(hostname: string, rule: GuardRule): Promise<readonly string[]> {
  try {
    const addresses = isLocalhost(hostname) ? LOOPBACK : await rule.resolve(hostname);
    if (addresses.some((address) => blockedReason(address, rule) !== null))
      throw new DnsError("not_public", { addresses });
    return addresses;
  } catch (error) {
    if (error instanceof DnsError) rule.onDnsError?.(hostname, error);
    throw error;
  }
}

interface LookupCall {
  hostname: string;
  options: LookupOptions;
  callback: Parameters<LookupFunction>[2];
}

async function answerLookup(rule: GuardRule, { hostname, options, callback }: LookupCall): Promise<void> {
  let results: LookupAddress[];
  try {
    const addresses = await resolveChecked(hostname, rule);
    results = addresses.map((address) => ({ address, family: isIP(address) }));
  } catch (error) {
    callback(error as Error, "");
    return;
  }
  const family = Number(String(options.family ?? 0).replace("IPv", ""));
  const matches = family === 0 ? results : results.filter((result) => result.family === family);
  const [first] = matches;
  if (!first) callback(new DnsError("not_found"), "");
  else if (options.all) callback(null, matches);
  else callback(null, first.address, first.family);
}

function blocked(problem: UrlProblemKind, message: string): UrlProblem {
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
