import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  minUuidAt,
  fromTypedId,
  newRequestId,
  newUuid,
  toTypedId,
  type IdPrefix,
} from "../../../src/platform/ids.ts";

const PREFIXES: IdPrefix[] = ["job", "evt", "whe", "dlv", "att", "org", "key", "usr"];
const uuid = fc.uuid({ version: [1, 4, 7] });

describe("typed ids", () => {
  it("are a prefix and 26 Crockford base32 characters, and lead back to the uuid", () => {
    fc.assert(
      fc.property(fc.constantFrom(...PREFIXES), uuid, (prefix, id) => {
        const typed = toTypedId(prefix, id);
        expect(typed).toMatch(/^[a-z]{3}_[0-7][0-9A-HJKMNP-TV-Z]{25}$/);
        expect(fromTypedId(prefix, typed)).toBe(id);
        expect(fromTypedId(prefix, typed.slice(0, 4) + typed.slice(4).toLowerCase())).toBe(id);
      }),
    );
  });

  it("reach from the smallest uuid to the largest", () => {
    expect(toTypedId("job", "00000000-0000-0000-0000-000000000000")).toBe(`job_${"0".repeat(26)}`);
    expect(toTypedId("job", "ffffffff-ffff-ffff-ffff-ffffffffffff")).toBe(`job_7${"Z".repeat(25)}`);
  });

  it("sort as their uuids do", () => {
    fc.assert(
      fc.property(uuid, uuid, (one, other) => {
        expect(toTypedId("job", one) < toTypedId("job", other)).toBe(one < other);
      }),
    );
  });

  it("are null where the text is no id with that prefix", () => {
    const typed = toTypedId("job", newUuid());
    const others = [
      typed.replace("job", "evt"),
      typed.slice(0, -1),
      `${typed}0`,
      ` ${typed}`,
      `${typed}\n`,
      typed.replace("_", "-"),
      "",
    ];
    for (const text of [
      ...others,
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
  it("is a UUIDv7 of its instant", () => {
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

  it("is never the same twice", () => {
    expect(new Set(Array.from({ length: 10_000 }, () => newUuid(0))).size).toBe(10_000);
  });
});

describe("newRequestId", () => {
  it("is req_ and a ULID of now", () => {
    const before = toTypedId("job", minUuidAt(new Date())).slice(4, 13);
    const id = newRequestId();
    expect(id).toMatch(/^req_[0-7][0-9A-HJKMNP-TV-Z]{25}$/);
    expect(id.slice(4, 13) >= before).toBe(true);
  });
});
