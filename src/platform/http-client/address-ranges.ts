/**
 * IP address ranges that we never send requests to. Sources: IANA's IPv4 and IPv6 Special-Purpose Address Registries
 * (https://www.iana.org/assignments/iana-ipv4-special-registry and .../iana-ipv6-special-registry, as of 2025),
 * the multicast registries, and the cloud providers' documentation of their metadata services.
 */
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

type Range = readonly [cidr: string, description: string];
type ParsedRange<Address> = { range: [Address, number]; description: string };

const METADATA = "a cloud provider's metadata service";
const PRIVATE = "a private network";
const PROTOCOL = "reserved for protocols";
const DOCUMENTATION = "reserved for documentation";
const RESERVED = "reserved";

/** Always blocked, because metadata services hand out credentials. */
const metadata4 = parse4([
  ["169.254.169.254/32", METADATA], // most clouds
  ["100.100.100.200/32", METADATA], // Alibaba Cloud
  ["168.63.129.16/32", METADATA], // Azure
  ["192.0.0.192/32", METADATA], // Oracle Cloud
]);
const metadata6 = parse6([
  ["fd00:ec2::/32", METADATA], // AWS
  ["fd20:ce::/32", METADATA], // Google Cloud
  ["fd00:42::/32", METADATA], // Scaleway
]);

/** Blocked unless the operator allows private networks. */
const private4 = parse4([
  ["127.0.0.0/8", "loopback"],
  ["10.0.0.0/8", PRIVATE],
  ["172.16.0.0/12", PRIVATE],
  ["192.168.0.0/16", PRIVATE],
  ["100.64.0.0/10", "a provider's shared network (carrier-grade NAT)"],
]);
const private6 = parse6([
  ["::1/128", "loopback"],
  ["fc00::/7", PRIVATE],
]);

const special4 = parse4([
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
]);
const special6 = parse6([
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
const globalUnicast6 = parse6([["2000::/3", ""]]);

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
  const version = isIP(address);
  if (version === 0) return "not an IP address";
  return version === 4
    ? describeBlockedIpv4(ipaddr.IPv4.parse(address), allowPrivate)
    : describeBlockedIpv6(ipaddr.IPv6.parse(address), allowPrivate);
}

function describeBlockedIpv4(address: ipaddr.IPv4, allowPrivate: boolean): string | null {
  const metadataRange = findRange(address, metadata4);
  if (metadataRange !== null) return metadataRange;
  const privateRange = findRange(address, private4);
  if (privateRange !== null) return allowPrivate ? null : privateRange;
  return findRange(address, special4);
}

function describeBlockedIpv6(address: ipaddr.IPv6, allowPrivate: boolean): string | null {
  const metadataRange = findRange(address, metadata6);
  if (metadataRange !== null) return metadataRange;
  const privateRange = findRange(address, private6);
  if (privateRange !== null) return allowPrivate ? null : privateRange;
  const embeddingRange = embeddedIpv4Ranges.find(({ range }) => address.match(range));
  const applicableRange =
    embeddingRange && findRange(address, special6) !== "unspecified" ? embeddingRange : undefined;
  if (applicableRange) {
    const description = describeBlockedIpv4(embeddedIpv4(address, applicableRange), allowPrivate);
    if (description !== null || transparentRanges.has(applicableRange)) return description;
  }
  const description = findRange(address, special6);
  return description ?? (findRange(address, globalUnicast6) === null ? "not allocated" : null);
}

/** Returns the IPv4 address embedded in `address`. Teredo inverts its bits. */
function embeddedIpv4(
  address: ipaddr.IPv6,
  { offset, inverted = false }: { offset: number; inverted?: boolean },
): ipaddr.IPv4 {
  const bytes = address.toByteArray().slice(offset, offset + 4);
  return new ipaddr.IPv4(inverted ? bytes.map((byte) => byte ^ 0xff) : bytes);
}

function findRange<Address extends { match(range: [Address, number]): boolean }>(
  address: Address,
  ranges: readonly ParsedRange<Address>[],
): string | null {
  for (const { range, description } of ranges) if (address.match(range)) return description;
  return null;
}

function parse4(ranges: readonly Range[]): ParsedRange<ipaddr.IPv4>[] {
  return ranges.map(([cidr, description]) => ({ range: ipaddr.IPv4.parseCIDR(cidr), description }));
}

function parse6(ranges: readonly Range[]): ParsedRange<ipaddr.IPv6>[] {
  return ranges.map(([cidr, description]) => ({ range: ipaddr.IPv6.parseCIDR(cidr), description }));
}
