import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  minUuidAt,
  fromTypedId,
  newRequestId,
  newUuid,
  toTypedId,
  type IdPrefix,
} from "../../../src/core/ids.ts";

const PREFIXES: IdPrefix[] = ["job", "evt", "whe", "dlv", "att", "org", "key", "usr"];
const uuid = fc.uuid({ version: [1, 4, 7] });

describe("typed ids", () => {
  it("have a prefix and 26 Crockford base32 characters, and convert back to the UUID", () => {
    fc.assert(
      fc.property(fc.constantFrom(...PREFIXES), uuid, (prefix, id) => {
        const typed = toTypedId(prefix, id);
        expect(typed).toMatch(/^[a-z]{3}_[0-7][0-9A-HJKMNP-TV-Z]{25}$/);
        expect(fromTypedId(prefix, typed)).toBe(id);
        expect(fromTypedId(prefix, typed.slice(0, 4) + typed.slice(4).toLowerCase())).toBe(id);
      }),
    );
  });

  it("encode the smallest and the largest UUID", () => {
    expect(toTypedId("job", "00000000-0000-0000-0000-000000000000")).toBe(`job_${"0".repeat(26)}`);
    expect(toTypedId("job", "ffffffff-ffff-ffff-ffff-ffffffffffff")).toBe(`job_7${"Z".repeat(25)}`);
  });

  it("sort like their UUIDs", () => {
    fc.assert(
      fc.property(uuid, uuid, (one, other) => {
        expect(toTypedId("job", one) < toTypedId("job", other)).toBe(one < other);
      }),
    );
  });

  it("convert to null if the text is not an id with that prefix", () => {
    const typed = toTypedId("job", newUuid());
    const invalidTexts = [
      typed.replace("job", "evt"),
      typed.slice(0, -1),
      `${typed}0`,
      ` ${typed}`,
      `${typed}\n`,
      typed.replace("_", "-"),
      "",
    ];
    for (const text of [
      ...invalidTexts,
      `job_8${"0".repeat(25)}`,
      `job_0${"U".repeat(25)}`,
      `JOB_${typed.slice(4)}`,
    ]) {
      expect(fromTypedId("job", text)).toBeNull();
    }
    fc.assert(fc.property(fc.string(), (text) => fromTypedId("job", text) === null));
  });
});

describe("newUuid", () => {
  it("returns a UUIDv7 of the given time", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 48 - 1 }), (ms) => {
        const id = newUuid(ms);
        expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
        expect(Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16)).toBe(ms);
        expect(id >= minUuidAt(new Date(ms))).toBe(true);
        expect(newUuid(Math.max(0, ms - 1)) < minUuidAt(new Date(ms)) || ms === 0).toBe(true);
      }),
    );
  });

  it("returns unique values", () => {
    expect(new Set(Array.from({ length: 10_000 }, () => newUuid(0))).size).toBe(10_000);
  });
});

describe("newRequestId", () => {
  it("returns an id of the current time", () => {
    const before = toTypedId("job", minUuidAt(new Date())).slice(4, 13);
    const id = newRequestId();
    expect(id).toMatch(/^req_[0-7][0-9A-HJKMNP-TV-Z]{25}$/);
    expect(id.slice(4, 13) >= before).toBe(true);
  });
});
