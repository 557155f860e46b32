/** Classification of PostgreSQL's errors: a 503 if a retry may succeed, otherwise a 500. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { connect as connectTls } from "node:tls";
import { describe, expect, it } from "vitest";
import { toUnavailable, isConnectionError } from "../../../src/core/postgres/errors.ts";
import { AppError } from "../../../src/core/errors.ts";

const failure = (code: string, more: object = {}): Error =>
  Object.assign(new Error("secret: it said this and that"), { code, ...more });

// evidence: postgres-error-codes-503
describe("toUnavailable returns a 503 with Retry-After and without the cause's message for", () => {
  it.each([
    ["08006", "connection failure"],
    ["25006", "read-only after a failover"],
    ["25P03", "idle in a transaction for too long"],
    ["25P04", "transaction timeout"],
    ["28P01", "invalid password"],
    ["28000", "authentication failure"],
    ["3D000", "database does not exist"],
    ["40001", "serialization failure"],
    ["40P01", "deadlock"],
    ["55P03", "lock not available"],
    ["53000", "insufficient resources"],
    ["53100", "disk full"],
    ["53200", "out of memory"],
    ["53300", "too many connections"],
    ["53400", "configuration limit exceeded"],
    ["57014", "statement timeout"],
    ["57P01", "administrator shutdown"],
    ["57P02", "crash shutdown"],
    ["57P03", "starting up"],
    ["57P04", "database dropped"],
    ["57P05", "idle session timeout"],
    ["58000", "system error"],
    ["58030", "I/O error"],
    ["58P01", "undefined file"],
  ])("%s: %s", (code) => expectUnavailable(failure(code)));

  it.each([
    ["connect", "ECONNREFUSED"],
    ["connect", "EMFILE"],
    ["connect", "ENOENT"],
    ["getaddrinfo", "ENOTFOUND"],
    ["read", "ECONNRESET"],
    ["write", "EPIPE"],
  ])("%s of the connection: %s", (syscall, code) => expectUnavailable(failure(code, { syscall })));

  it("a host with several IP addresses, none of which answers", async () => {
    const addresses = [
      { address: "127.0.0.1", family: 4 },
      { address: "::1", family: 6 },
    ];
    // Port 1 is reserved, so nothing listens on it.
    const socket = connect({
      host: "db.example",
      port: 1,
      lookup: (_host, _options, done) => done(null, addresses),
    });
    const [error] = await once(socket, "error");
    expect(error).toBeInstanceOf(AggregateError);
    expectUnavailable(error);
  });

  it("a connection that is lost before TLS is set up", async () => {
    await using server = createServer((socket) => socket.resume().end());
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const [error] = await once(connectTls({ host: "127.0.0.1", port }), "error");
    expectUnavailable(error);
  });

  it.each(["Connection terminated unexpectedly", "timeout exceeded when trying to connect"])(
    "%s, an error without a code",
    (message) => expectUnavailable(new Error(message)),
  );
});

describe("toUnavailable returns null for", () => {
  it.each(["22001", "23505", "42601", "42P01", "P0001", "XX000", "XX001"])(
    "%s, an error in the statement",
    (code) => expect(toUnavailable(failure(code))).toBeNull(),
  );

  it.each(["ENOENT", "EACCES"])("%s of a file", (code) =>
    expect(toUnavailable(failure(code, { syscall: "open" }))).toBeNull(),
  );

  it("a value that is not an Error", () => {
    expect(toUnavailable("53100")).toBeNull();
    expect(toUnavailable(null)).toBeNull();
  });
});

it("keeps connections to a server that lacks resources, except if it has too many connections", () => {
  const resourceErrors = ["53000", "53100", "53200", "53400", "58000", "58030"];
  expect(resourceErrors.filter((code) => isConnectionError(failure(code)))).toEqual([]);
  expect(isConnectionError(failure("53300"))).toBe(true);
});

function expectUnavailable(error: Error): void {
  const unavailable = toUnavailable(error);
  expect(unavailable).toBeInstanceOf(AppError);
  expect(unavailable?.status).toBe(503);
  expect(Number(unavailable?.headers["Retry-After"])).toBeGreaterThanOrEqual(1);
  expect(unavailable?.message).not.toContain("secret");
  expect(unavailable?.cause).toBe(error);
}
