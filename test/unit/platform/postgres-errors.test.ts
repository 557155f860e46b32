/** What PostgreSQL, and the way to it, may say: what is worth another try is a 503, and only what is not is a 500. */
import { describe, expect, it } from "vitest";
import { toUnavailable, isConnectionError } from "../../../src/platform/postgres/errors.ts";
import { AppError } from "../../../src/platform/errors.ts";

const failure = (code: string, more: object = {}): Error =>
  Object.assign(new Error("secret: it said this and that"), { code, ...more });

// evidence: postgres-error-codes-503
describe("is a 503 with Retry-After, and tells nothing of the cause", () => {
  it.each([
    ["08006", "the connection failed"],
    ["25006", "read-only after a failover"],
    ["25P03", "idle in a transaction for too long"],
    ["25P04", "a transaction that took too long"],
    ["28P01", "the password was changed meanwhile"],
    ["28000", "no longer let in"],
    ["3D000", "the database is gone"],
    ["40001", "others changed the same rows"],
    ["40P01", "a deadlock"],
    ["55P03", "a lock that others hold"],
    ["53000", "without resources"],
    ["53100", "the disk is full"],
    ["53200", "out of memory"],
    ["53300", "too many connections"],
    ["53400", "a configured limit"],
    ["57014", "cancelled by a timeout"],
    ["57P01", "shut down"],
    ["57P02", "crashed"],
    ["57P03", "starting up"],
    ["57P04", "dropped"],
    ["57P05", "idle for too long"],
    ["58000", "an error of the system"],
    ["58030", "an error of input and output"],
    ["58P01", "a file is missing"],
  ])("%s: %s", (code) => expectUnavailable(failure(code)));

  it.each([
    "ECONNREFUSED",
    "ECONNRESET",
    "ECONNABORTED",
    "ENOTFOUND",
    "EAI_AGAIN",
    "EPIPE",
    "ETIMEDOUT",
    "EHOSTUNREACH",
    "ENETUNREACH",
    "ENETDOWN",
  ])("%s, of the way there", (code) => expectUnavailable(failure(code)));

  it.each(["EMFILE", "ENFILE", "ENOBUFS", "EADDRNOTAVAIL"])("%s, for which we are short ourselves", (code) =>
    expectUnavailable(failure(code)),
  );

  it.each(["ENOENT", "EACCES"])("%s, of a socket of the file system", (code) =>
    expectUnavailable(failure(code, { syscall: "connect" })),
  );

  it("one of several addresses, none of which answers", () =>
    expectUnavailable(new AggregateError([failure("ECONNREFUSED"), failure("ENETUNREACH")])));

  it.each(["Connection terminated unexpectedly", "timeout exceeded when trying to connect"])(
    "%s, which has no code",
    (message) => expectUnavailable(new Error(message)),
  );
});

describe("is none of its business", () => {
  it.each(["22001", "23505", "42601", "42P01", "P0001", "XX000", "XX001"])(
    "%s: this statement is wrong, not the moment",
    (code) => expect(toUnavailable(failure(code))).toBeNull(),
  );

  it.each(["ENOENT", "EACCES"])("%s of a file", (code) =>
    expect(toUnavailable(failure(code, { syscall: "open" }))).toBeNull(),
  );

  it("whatever is no error", () => {
    expect(toUnavailable("53100")).toBeNull();
    expect(toUnavailable(null)).toBeNull();
  });
});

it("a connection whose server is short of something still stands: it is kept, not made again for each request", () => {
  const kept = ["53000", "53100", "53200", "53400", "58000", "58030"];
  expect(kept.filter((code) => isConnectionError(failure(code)))).toEqual([]);
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
