/** Requests to servers that a user names: no internal address, no redirect, and no large answer. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { AddressGuard } from "../../../src/core/http-client/address-guard.ts";
import { createGuardedFetch } from "../../../src/accounts/sso/discovery.ts";

let port: number;
/** The paths of the requests that arrived. */
const arrived: string[] = [];
const server = createServer((request, response) => {
  arrived.push(request.url ?? "");
  if (request.url === "/moved") response.writeHead(302, { location: "/secret" }).end();
  else response.end(request.url === "/large" ? "x".repeat(300_000) : "{}");
});

beforeAll(async () => {
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  ({ port } = server.address() as AddressInfo);
});
afterAll(() => void server.close());

const lenient = createGuardedFetch(new AddressGuard({ allowPrivate: true }));

it("returns an answer, and a redirect without following it", async () => {
  expect(await (await lenient.fetch(`http://127.0.0.1:${port}/`)).text()).toBe("{}");
  expect((await lenient.fetch(`http://127.0.0.1:${port}/moved`)).status).toBe(302);
  expect(arrived).not.toContain("/secret");
});

it("rejects an answer above 256 KiB", async () => {
  await expect(lenient.fetch(`http://127.0.0.1:${port}/large`)).rejects.toThrow(/size/i);
});

it("rejects an internal IP address, also of a name whose address has changed since it was checked", async () => {
  const guard = new AddressGuard({ allowPrivate: false, resolve: () => Promise.resolve(["127.0.0.1"]) });
  await using strict = createGuardedFetch(guard);
  const before = arrived.length;
  await expect(strict.fetch(`https://127.0.0.1:${port}/`)).rejects.toThrow("not a public address");
  await expect(strict.fetch(`https://login.example:${port}/`)).rejects.toThrow("public IP addresses");
  expect(arrived.length).toBe(before);
});
