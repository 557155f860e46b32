/** IP addresses: groups for rate limits, and those of this machine. */
import ipaddr from "ipaddr.js";

/**
 * Returns the key that an IP address is counted under: the IPv4 address, the IPv6 /64, or "unknown" for anything else. An IPv6 host
 * usually has a whole /64, so its IP addresses count together.
 */
export function networkOf(address: string): string {
  return prefixOf(address, 8);
}

/** The same with the IPv6 /48, which providers assign to one customer. */
export function siteOf(address: string): string {
  return prefixOf(address, 6);
}

function prefixOf(address: string, ipv6Bytes: number): string {
  if (!ipaddr.isValid(address)) return "unknown";
  const parsed = ipaddr.process(address);
  return parsed.kind() === "ipv4" ? parsed.toString() : parsed.toByteArray().slice(0, ipv6Bytes).join(".");
}

/** True for a name or an IP address, also one in brackets, that only this machine can reach. */
export function isLoopback(host: string): boolean {
  const name = host.replaceAll(/^\[|\]$/g, "");
  return ipaddr.isValid(name) ? ipaddr.process(name).range() === "loopback" : /^(.+\.)?localhost$/.test(name);
}
