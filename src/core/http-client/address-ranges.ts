/**
 * IP address ranges that we never send requests to. Sources: IANA's IPv4 and IPv6 Special-Purpose Address Registries
 * (https://www.iana.org/assignments/iana-ipv4-special-registry and .../iana-ipv6-special-registry, as of 2025),
 * the multicast registries, and the cloud providers' documentation of their metadata services.
 */
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Range = readonly [cidr: string, description: string];
type ParsedRange = { cidr: [Address, number]; description: string };

const METADATA = "a cloud provider's metadata service";
const PRIVATE = "a private network";
const PROTOCOL = "reserved for protocols";
const DOCUMENTATION = "reserved for documentation";
const RESERVED = "reserved";

/** Always blocked, because metadata services hand out credentials. */
const metadataRanges = parseRanges([
  ["169.254.169.254/32", METADATA], // most clouds
  ["100.100.100.200/32", METADATA], // Alibaba Cloud
  ["168.63.129.16/32", METADATA], // Azure
  ["192.0.0.192/32", METADATA], // Oracle Cloud
  ["fd00:ec2::/32", METADATA], // AWS
  ["fd20:ce::/32", METADATA], // Google Cloud
  ["fd00:42::/32", METADATA], // Scaleway
]);

/** Blocked unless the operator allows private networks. */
const privateRanges = parseRanges([
  ["127.0.0.0/8", "loopback"],
  ["10.0.0.0/8", PRIVATE],
  ["172.16.0.0/12", PRIVATE],
  ["192.168.0.0/16", PRIVATE],
  ["100.64.0.0/10", "a provider's shared network (carrier-grade NAT)"],
  ["::1/128", "loopback"],
  ["fc00::/7", PRIVATE],
]);

const specialRanges = parseRanges([
  ["0.0.0.0/8", "unspecified"],
  ["169.254.0.0/16", "link-local"],
  // Contains two globally reachable IP addresses, both protocol anycast.
  ["192.0.0.0/24", PROTOCOL],
  ["192.0.2.0/24", DOCUMENTATION],
  ["192.88.99.0/24", PROTOCOL],
  ["198.18.0.0/15", "reserved for benchmarks"],
  ["198.51.100.0/24", DOCUMENTATION],
  ["203.0.113.0/24", DOCUMENTATION],
  ["224.0.0.0/4", "multicast"],
  ["255.255.255.255/32", "broadcast"],
  ["240.0.0.0/4", RESERVED],
  ["::/128", "unspecified"],
  ["64:ff9b:1::/48", "a local translation prefix (NAT64)"],
  ["100::/64", "reserved for discarding"],
  ["100:0:0:1::/64", RESERVED],
  // Contains Teredo, ORCHID and benchmarks. Its globally reachable IP addresses are protocol anycast.
  ["2001::/23", PROTOCOL],
  ["2001:db8::/32", DOCUMENTATION],
  ["3fff::/20", DOCUMENTATION],
  ["5f00::/16", "reserved for segment routing"],
  ["fe80::/10", "link-local"],
  ["fec0::/10", "site-local"],
  ["ff00::/8", "multicast"],
]);
/** The ranges that IANA has allocated as global unicast (https://www.iana.org/assignments/ipv6-unicast-address-assignments). */
const globalUnicast = ipaddr.IPv6.parseCIDR("2000::/3");

/** IPv6 ranges that embed an IPv4 address, which starts at byte `offset`. */
const embeddedIpv4Ranges: readonly { range: [ipaddr.IPv6, number]; offset: number; inverted?: boolean }[] = [
  { range: ipaddr.IPv6.parseCIDR("::ffff:0:0/96"), offset: 12 }, // IPv4-mapped
  { range: ipaddr.IPv6.parseCIDR("::ffff:0:0:0/96"), offset: 12 }, // IPv4-translated
  { range: ipaddr.IPv6.parseCIDR("64:ff9b::/96"), offset: 12 }, // NAT64
  { range: ipaddr.IPv6.parseCIDR("64:ff9b:1::/48"), offset: 12 }, // NAT64 of a local network
  { range: ipaddr.IPv6.parseCIDR("2002::/16"), offset: 2 }, // 6to4
  { range: ipaddr.IPv6.parseCIDR("2001::/32"), offset: 12, inverted: true }, // Teredo
  { range: ipaddr.IPv6.parseCIDR("::/96"), offset: 12 }, // IPv4-compatible; ::1 and :: are handled before
];
/** Ranges that are globally reachable or only notation: the embedded IPv4 address alone decides. */
const transparentRanges = new Set(
  embeddedIpv4Ranges.filter(({ offset, range }) => offset === 2 || range[1] === 96),
);

/** Returns the kind of a blocked IP address (`loopback`, `multicast`, …), or null if it is allowed. */
export function describeBlockedRange(address: string, allowPrivate: boolean): string | null {
  if (address.includes("%")) return "an address of one network interface";
  if (isIP(address) === 0) return "not an IP address";
  const parsed = ipaddr.parse(address);
  const metadata = findRange(parsed, metadataRanges);
  if (metadata !== null) return metadata;
  const network = findRange(parsed, privateRanges);
  if (network !== null) return allowPrivate ? null : network;
  const special = findRange(parsed, specialRanges);
  if (parsed instanceof ipaddr.IPv4) return special;
  const embedding =
    special === "unspecified" ? undefined : embeddedIpv4Ranges.find(({ range }) => parsed.match(range));
  if (embedding) {
    const description = describeBlockedRange(embeddedIpv4(parsed, embedding), allowPrivate);
    if (description !== null || transparentRanges.has(embedding)) return description;
  }
  return special ?? (parsed.match(globalUnicast) ? null : "not allocated");
}

/** Returns the IPv4 address embedded in `address`. Teredo inverts its bits. */
function embeddedIpv4(
  address: ipaddr.IPv6,
  { offset, inverted = false }: { offset: number; inverted?: boolean },
): string {
  const bytes = address.toByteArray().slice(offset, offset + 4);
  return (inverted ? bytes.map((byte) => byte ^ 0xff) : bytes).join(".");
}

function findRange(address: Address, ranges: readonly ParsedRange[]): string | null {
  const isInRange = ({ cidr }: ParsedRange): boolean =>
    address.kind() === cidr[0].kind() && address.match(cidr);
  return ranges.find(isInRange)?.description ?? null;
}

function parseRanges(ranges: readonly Range[]): ParsedRange[] {
  return ranges.map(([cidr, description]) => ({ cidr: ipaddr.parseCIDR(cidr), description }));
}
