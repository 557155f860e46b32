import { describe, expect, it } from "vitest";
import { AddressGuard } from "../../../src/core/http-client/address-guard.ts";
import { DnsError } from "../../../src/core/http-client/dns-resolver.ts";

const unresolvable = (): Promise<never> => Promise.reject(new DnsError("not_found"));
const strict = new AddressGuard({ allowPrivate: false, resolve: unresolvable });
const lenient = new AddressGuard({ allowPrivate: true, resolve: unresolvable });

const guardResolvingTo = (...addresses: string[]): AddressGuard =>
  new AddressGuard({ allowPrivate: false, resolve: () => Promise.resolve(addresses) });

describe("blockedReason", () => {
  it.each([
    // IPv4: all entries of IANA's special-purpose registry
    ["0.0.0.0", "unspecified"],
    ["0.1.2.3", "unspecified"],
    ["10.0.0.0", "a private network"],
    ["10.255.255.255", "a private network"],
    ["100.64.0.1", "carrier-grade NAT"],
    ["100.127.255.255", "carrier-grade NAT"],
    ["127.0.0.1", "loopback"],
    ["127.255.255.254", "loopback"],
    ["169.254.0.1", "link-local"],
    ["169.254.170.2", "link-local"],
    ["172.16.0.1", "a private network"],
    ["172.31.255.255", "a private network"],
    ["192.0.0.1", "protocols"],
    ["192.0.0.8", "protocols"],
    ["192.0.0.170", "protocols"],
    ["192.0.2.1", "documentation"],
    ["192.88.99.1", "protocols"],
    ["192.168.0.1", "a private network"],
    ["192.168.255.255", "a private network"],
    ["198.18.0.1", "benchmarks"],
    ["198.19.255.255", "benchmarks"],
    ["198.51.100.7", "documentation"],
    ["203.0.113.9", "documentation"],
    ["224.0.0.1", "multicast"],
    ["239.255.255.250", "multicast"],
    ["240.0.0.1", "reserved"],
    ["255.255.255.254", "reserved"],
    ["255.255.255.255", "broadcast"],
    // metadata services
    ["169.254.169.254", "metadata"],
    ["100.100.100.200", "metadata"],
    ["168.63.129.16", "metadata"],
    ["192.0.0.192", "metadata"],
    ["fd00:ec2::254", "metadata"],
    ["fd00:ec2::23", "metadata"],
    ["fd20:ce::254", "metadata"],
    ["fd00:42::42", "metadata"],
    // IPv6
    ["::", "unspecified"],
    ["::1", "loopback"],
    ["0:0:0:0:0:0:0:1", "loopback"],
    ["64:ff9b:1::1", "unspecified"],
    ["100::1", "discarding"],
    ["100:0:0:1::1", "reserved"],
    ["2001:2::1", "protocols"],
    ["2001:10::1", "protocols"],
    ["2001:db8::1", "documentation"],
    ["3fff::1", "documentation"],
    ["5f00::1", "segment routing"],
    ["fc00::1", "a private network"],
    ["fdff:ffff::1", "a private network"],
    ["fe80::1", "link-local"],
    ["fec0::1", "site-local"],
    ["ff02::1", "multicast"],
    ["4000::1", "not allocated"],
    ["1234::1", "not allocated"],
    ["fe80::1%eth0", "one network interface"],
    ["2606:4700::1111%2", "one network interface"],
    // IPv6 with an embedded IPv4 address
    ["::ffff:127.0.0.1", "loopback"],
    ["::ffff:7f00:1", "loopback"],
    ["::ffff:10.0.0.1", "a private network"],
    ["::ffff:169.254.169.254", "metadata"],
    ["::ffff:a9fe:a9fe", "metadata"],
    ["::ffff:0:127.0.0.1", "loopback"],
    ["::127.0.0.1", "loopback"],
    ["::a00:1", "a private network"],
    ["64:ff9b::127.0.0.1", "loopback"],
    ["64:ff9b::a9fe:a9fe", "metadata"],
    ["64:ff9b:1::a9fe:a9fe", "metadata"],
    ["64:ff9b:1::808:808", "NAT64"],
    ["2002:7f00:1::", "loopback"],
    ["2002:a9fe:a9fe::1", "metadata"],
    ["2002:c0a8:101::1", "a private network"],
    ["2001:0:4136:e378:8000:63bf:80ff:fffe", "loopback"],
    ["2001::f7f7:f7f7", "protocols"],
    // not IP addresses
    ["", "not an IP address"],
    ["localhost", "not an IP address"],
    ["1.2.3", "not an IP address"],
    ["01.2.3.4", "not an IP address"],
    ["1.2.3.4/8", "not an IP address"],
    ["[::1]", "not an IP address"],
  ])("blocks %s: %s", (address, reason) => {
    expect(strict.blockedReason(address)).toMatch(new RegExp(reason));
  });

  it.each([
    "1.1.1.1",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.1",
    "168.63.129.15",
    "169.253.255.255",
    "169.255.0.1",
    "172.15.255.255",
    "172.32.0.1",
    "192.0.1.1",
    "192.167.255.255",
    "192.169.0.1",
    "198.17.255.255",
    "198.20.0.1",
    "223.255.255.255",
    "2606:4700:4700::1111",
    "2001:4860:4860::8888",
    "2a00:1450:4001::1",
    "::ffff:8.8.8.8",
    "64:ff9b::8.8.8.8",
    "2002:808:808::1",
    "::8.8.8.8",
  ])("allows %s", (address) => {
    expect(strict.blockedReason(address)).toBeNull();
  });

  it.each([
    "127.0.0.1",
    "10.1.2.3",
    "192.168.1.1",
    "100.64.0.1",
    "::1",
    "fd12::1",
    "::ffff:127.0.0.1",
    "8.8.8.8",
  ])("allows %s with allowPrivate", (address) => {
    expect(lenient.blockedReason(address)).toBeNull();
  });

  it.each([
    "169.254.169.254",
    "100.100.100.200",
    "fd00:ec2::254",
    "::ffff:a9fe:a9fe",
    "0.0.0.0",
    "224.0.0.1",
    "fe80::1",
  ])("blocks %s even with allowPrivate", (address) => {
    expect(lenient.blockedReason(address)).not.toBeNull();
  });
});

describe("checkUrl", () => {
  it.each([
    // notations that URL normalises
    ["https://127.0.0.1/", "blocked_address"],
    ["https://127.1/", "blocked_address"],
    ["https://0x7f.1/", "blocked_address"],
    ["https://0x7f000001/", "blocked_address"],
    ["https://2130706433/", "blocked_address"],
    ["https://0177.0.0.1/", "blocked_address"],
    ["https://017700000001/", "blocked_address"],
    ["https://１２７.０.０.１/", "blocked_address"],
    ["https://①②⑦.0.0.1/", "blocked_address"],
    ["https://127。0。0。1/", "blocked_address"],
    ["https://127.0.0.1./", "blocked_address"],
    ["https://%31%32%37.0.0.1/", "blocked_address"],
    ["https://0/", "blocked_address"],
    ["https://0xa9fea9fe/latest/meta-data/", "blocked_address"],
    ["https://[::1]/", "blocked_address"],
    ["https://[::ffff:7f00:1]/", "blocked_address"],
    ["https://[::ffff:127.0.0.1]:8443/", "blocked_address"],
    ["https://[0:0:0:0:0:0:0:1]/", "blocked_address"],
    ["https://[fd00:ec2::254]/", "blocked_address"],
    ["https://[64:ff9b::a9fe:a9fe]/", "blocked_address"],
    // loopback names
    ["https://localhost/", "blocked_address"],
    ["https://localhost./", "blocked_address"],
    ["https://LOCALHOST:8443/x", "blocked_address"],
    ["https://api.localhost/", "blocked_address"],
    ["https://ⓛocalhost/", "blocked_address"],
    // form
    ["http://example.com/", "scheme"],
    ["ftp://example.com/", "scheme"],
    ["file:///etc/passwd", "scheme"],
    ["javascript:alert(1)", "scheme"],
    ["https://user@example.com/", "userinfo"],
    ["https://user:secret@example.com/", "userinfo"],
    ["https://example.com@127.0.0.1/", "userinfo"],
    ["https://example.com:0/", "invalid_url"],
    ["https://example.com:65536/", "invalid_url"],
    ["https://[fe80::1%25eth0]/", "invalid_url"],
    ["https://256.1.1.1/", "invalid_url"],
    ["https:///", "invalid_url"],
    ["example.com/webhooks", "invalid_url"],
    ["", "invalid_url"],
    [`https://example.com/${"x".repeat(2_048)}`, "invalid_url"],
    // names
    ["https://nowhere.example/", "unresolvable"],
  ])("rejects %s as %s", async (url, problem) => {
    expect(await strict.checkUrl(url)).toMatchObject({ allowed: false, problem });
  });

  it.each([
    ["https://1.1.1.1/hooks", "https://1.1.1.1/hooks"],
    ["https://16843009:8443/", "https://1.1.1.1:8443/"],
    ["https://[2606:4700:4700::1111]/x?y=1#z", "https://[2606:4700:4700::1111]/x?y=1"],
    ["  https://8.8.8.8:443/a b  ", "https://8.8.8.8/a%20b"],
  ])("accepts %s as %s", async (url, expected) => {
    expect(await strict.checkUrl(url)).toEqual({ allowed: true, url: expected });
  });

  it.each([
    "http://localhost:3000/",
    "http://127.0.0.1:3000/",
    "https://10.0.0.7/",
    "http://[::1]:8080/",
    "http://1.1.1.1/",
  ])("accepts %s with allowPrivate", async (url) => {
    expect(await lenient.checkUrl(url)).toMatchObject({ allowed: true });
  });

  // evidence: ssrf-public-name-allowed
  it("accepts a name that resolves only to public IP addresses", async () => {
    const guard = guardResolvingTo("93.184.216.34", "2606:2800:220:1::1");
    expect(await guard.checkUrl("https://example.com/")).toMatchObject({ allowed: true });
  });

  it.each([[["127.0.0.1"]], [["93.184.216.34", "10.0.0.7"]], [["93.184.216.34", "::ffff:10.0.0.7"]]])(
    "rejects a name that resolves to %j without revealing these IP addresses",
    async (addresses) => {
      const verdict = await guardResolvingTo(...addresses).checkUrl("https://intranet.example/");
      expect(verdict).toMatchObject({ allowed: false, problem: "unresolvable" });
      for (const address of addresses) expect(JSON.stringify(verdict)).not.toContain(address);
    },
  );

  it("returns the same message for every rejected name, and reports the exact reason to the operator", async () => {
    const reported: unknown[] = [];
    const resolves = [
      unresolvable,
      () => Promise.reject(new DnsError("no_answer")),
      () => Promise.resolve(["93.184.216.34", "10.0.0.7"]),
    ];
    const verdicts = await Promise.all(
      resolves.map((resolve) =>
        new AddressGuard({
          allowPrivate: false,
          resolve,
          onDnsError: (host, { reason, addresses }) => reported.push([host, reason, addresses]),
        }).checkUrl("https://a.example/"),
      ),
    );
    expect(new Set(verdicts.map((verdict) => JSON.stringify(verdict)))).toEqual(
      new Set([JSON.stringify(verdicts[0])]),
    );
    expect(verdicts[0]).toEqual({
      allowed: false,
      problem: "unresolvable",
      message: "must name a public server: the name does not resolve, or not only to public IP addresses",
    });
    expect(reported).toEqual([
      ["a.example", "not_found", []],
      ["a.example", "no_answer", []],
      ["a.example", "not_public", ["93.184.216.34", "10.0.0.7"]],
    ]);
  });
});
