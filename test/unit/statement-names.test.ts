import { describe, expect, it } from "vitest";
import {
  MAX_NAMES,
  NAMED_FROM,
  REMEMBERED_TEXTS,
  StatementNames,
} from "../../src/platform/statement-names.ts";

/** The name that `text` has after so many sights. */
function see(names: StatementNames, text: string, times: number): string | undefined {
  for (let n = 1; n < times; n += 1) names.nameOf(text);
  return names.nameOf(text);
}

describe("the names of prepared statements", () => {
  it("are given to a text from its fifth sight on, one for good", () => {
    const names = new StatementNames();
    expect(see(names, "select 1", NAMED_FROM - 1)).toBeUndefined();
    const name = names.nameOf("select 1");
    expect(name).toMatch(/^w\d+$/);
    expect(see(names, "select 1", 3)).toBe(name);
    expect(see(names, "select 2", NAMED_FROM)).not.toBe(name);
  });

  it("are not used up by texts that come once", () => {
    const names = new StatementNames();
    for (let n = 0; n < 10 * MAX_NAMES; n += 1) expect(names.nameOf(`select ${n}`)).toBeUndefined();
    expect(see(names, "select 'hot'", NAMED_FROM)).toBeDefined();
  });

  it("are given to a text that comes again among so many others as are remembered", () => {
    const names = new StatementNames();
    for (let sight = 1; sight < NAMED_FROM; sight += 1) {
      expect(names.nameOf("select 'hot'")).toBeUndefined();
      for (let n = 1; n < REMEMBERED_TEXTS; n += 1) names.nameOf(`select ${sight}, ${n}`);
    }
    expect(names.nameOf("select 'hot'")).toBeDefined();
  });

  it("are not given for sights that so many others have made forget", () => {
    const names = new StatementNames();
    see(names, "select 'rare'", NAMED_FROM - 1);
    for (let n = 0; n < REMEMBERED_TEXTS; n += 1) names.nameOf(`select ${n}`);
    expect(names.nameOf("select 'rare'")).toBeUndefined();
  });

  it("end at a bound, and those that have one keep it", () => {
    const names = new StatementNames();
    const given = Array.from({ length: MAX_NAMES }, (_, n) => see(names, `select ${n}`, NAMED_FROM));
    expect(new Set(given).size).toBe(MAX_NAMES);
    expect(see(names, "select 'more'", 10 * NAMED_FROM)).toBeUndefined();
    expect(given.map((_, n) => names.nameOf(`select ${n}`))).toEqual(given);
  });
});
