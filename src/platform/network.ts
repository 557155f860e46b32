/** Counting requests by network: a host with IPv6 has a whole /64, so its addresses count together. */
import ipaddr from "ipaddr.js";

/** The key under which an IP address is counted: IPv4 as a whole, IPv6 by its /64, anything else as "unknown". */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return "unknown";
  const parsed = ipaddr.process(address);
  return parsed.kind() === "ipv4" ? parsed.toString() : parsed.toByteArray().slice(0, 8).join(".");
}
