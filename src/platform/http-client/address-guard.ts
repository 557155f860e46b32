/** The one rule of where we send requests that others ask us to send: used when an address is saved and at every connect. */
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
  /** A predicate for the caller: `must be …`, `does not …`. Contains nothing that a DNS lookup returned. */
  message: string;
}

/** `url` as it will be called: spelling put in order, without a fragment. */
export type UrlVerdict = { allowed: true; url: string } | UrlProblem;

/** Thrown into a connect that must not be made. `message` is for the endpoint's owner. */
export class BlockedAddressError extends Error {
  override readonly name = "BlockedAddressError";
}

export interface AddressGuard {
  /** For saving: form and addresses, names resolved. */
  checkUrl(text: string): Promise<UrlVerdict>;
  /** What is wrong with a URL before any name is resolved; null where nothing is. */
  urlProblem(url: URL): UrlProblem | null;
  /** Why nothing may be sent to an IP address; null where it may. */
  blockedReason(address: string): string | null;
  /**
   * For `net.connect`: resolves, checks every answer and hands on the very addresses that it checked, so that a name which
   * resolves otherwise a moment later changes nothing. `net.connect` does not ask it about a host that is an IP address.
   */
  lookup: LookupFunction;
}

export interface AddressGuardOptions {
  /** Also http, loopback and private networks: for a receiver of the operator's own. Metadata addresses stay blocked. */
  allowPrivate: boolean;
  resolve?: ResolveHostname;
  /** Called with the exact reason for each refused name, which the endpoint's owner does not see. */
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
  const what = describeBlockedRange(address, allowPrivate);
  return what === null ? null : `not a public address (${what})`;
}

/** Every IP address of a name, all of them allowed. Rejects with a NameError. */
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
  let answers: LookupAddress[];
  try {
    const addresses = await resolveChecked(hostname, rule);
    answers = addresses.map((address) => ({ address, family: isIP(address) }));
  } catch (error) {
    callback(error as Error, "");
    return;
  }
  const family = Number(String(options.family ?? 0).replace("IPv", ""));
  const fitting = family === 0 ? answers : answers.filter((one) => one.family === family);
  const [first] = fitting;
  if (!first) callback(new DnsError("not_found"), "");
  else if (options.all) callback(null, fitting);
  else callback(null, first.address, first.family);
}

function blocked(problem: UrlProblemKind, message: string): UrlProblem {
  return { allowed: false, problem, message };
}

/** The host as `net.connect` takes it: IPv6 without brackets, a name without the root's dot. */
function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
}

/** RFC 6761: `localhost` and all below it are loopback, whatever a name server says. */
function isLocalhost(hostname: string): boolean {
  return /(?:^|\.)localhost\.?$/i.test(hostname);
}
