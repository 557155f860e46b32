/** Ranges of addresses that a key may be used from. */
import { BlockList, isIP } from "node:net";
import { AppError } from "./errors.ts";

interface CidrRange {
  text: string;
  address: string;
  prefix: number;
  family: "ipv4" | "ipv6";
}

/** `10.0.0.0/8`, `2001:db8::/32`, or one address. Throws BadRequestException with an example otherwise. */
export function parseCidr(text: string): CidrRange {
  const [address = "", prefixText, ...rest] = text.split("/");
  // A zone (`fe80::1%eth0`) is a name on one machine; there is no range of it.
  const version = address.includes("%") ? 0 : isIP(address);
  const bits = version === 4 ? 32 : 128;
  const prefix = prefixText === undefined ? bits : Number(prefixText);
  const isValid = version !== 0 && rest.length === 0 && /^\d{1,3}$/.test(prefixText ?? "0") && prefix <= bits;
  if (!isValid)
    throw new AppError("BadRequestException", `"${text}" is not a CIDR range such as 203.0.113.0/24`);
  return { text: `${address}/${prefix}`, address, prefix, family: version === 4 ? "ipv4" : "ipv6" };
}

/** Whether every address of `inner` is one of `outer`. A range of IPv6 is never inside one of IPv4. */
export function isSubnetOf(inner: string, outer: string): boolean {
  const [small, large] = [parseCidr(inner), parseCidr(outer)];
  return (
    small.family === large.family && small.prefix >= large.prefix && createCidrMatcher([outer])(small.address)
  );
}

/** A test of addresses against `ranges`. An IPv4 address in IPv6 form (`::ffff:10.0.0.1`) counts as IPv4. */
export function createCidrMatcher(ranges: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const { address, prefix, family } of ranges.map(parseCidr)) list.addSubnet(address, prefix, family);
  return (address) => {
    const version = isIP(address);
    return version !== 0 && list.check(address, version === 4 ? "ipv4" : "ipv6");
  };
}
