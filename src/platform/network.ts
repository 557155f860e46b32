/** Groups IP addresses for rate limits: an IPv6 host usually has a whole /64, so its IP addresses count together. */
import ipaddr from "ipaddr.js";

/** Returns the key that an IP address is counted under: the IPv4 address, the IPv6 /64, or "unknown" for anything else. */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return "unknown";
  const parsed = ipaddr.process(address);
  return parsed.kind() === "ipv4" ? parsed.toString() : parsed.toByteArray().slice(0, 8).join(".");
}
