/** IP address ranges (CIDR), for the list of IP addresses that may use an API key. */
import { BlockList, isIP } from "node:net";
import { AppError } from "./errors.ts";

interface CidrRange {
  text: string;
  address: string;
  prefix: number;
  family: "ipv4" | "ipv6";
}

/** Parses `10.0.0.0/8`, `2001:db8::/32` or a single IP address. Throws BadRequestException for any other text. */
export function parseCidr(text: string): CidrRange {
  const [address = "", prefixText, ...rest] = text.split("/");
  // Reject zones (`fe80::1%eth0`): they name an interface of one machine.
  const version = address.includes("%") ? 0 : isIP(address);
  const bits = version === 4 ? 32 : 128;
  const prefix = prefixText === undefined ? bits : Number(prefixText);
  const isValid = version !== 0 && rest.length === 0 && /^\d{1,3}$/.test(prefixText ?? "0") && prefix <= bits;
  if (!isValid)
    throw new AppError("BadRequestException", `"${text}" is not a CIDR range such as 203.0.113.0/24`);
  return { text: `${address}/${prefix}`, address, prefix, family: version === 4 ? "ipv4" : "ipv6" };
}

/** True if `outer` contains every IP address of `inner`. An IPv6 range is never inside an IPv4 range. */
export function isSubnetOf(inner: string, outer: string): boolean {
  const [small, large] = [parseCidr(inner), parseCidr(outer)];
  return (
    small.family === large.family && small.prefix >= large.prefix && createCidrMatcher([outer])(small.address)
  );
}

/** Returns a function that tests an IP address against `ranges`. IPv4-mapped addresses (`::ffff:10.0.0.1`) match IPv4 ranges. */
export function createCidrMatcher(ranges: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const { address, prefix, family } of ranges.map(parseCidr)) list.addSubnet(address, prefix, family);
  return (address) => {
    const version = isIP(address);
    return version !== 0 && list.check(address, version === 4 ? "ipv4" : "ipv6");
  };
}
