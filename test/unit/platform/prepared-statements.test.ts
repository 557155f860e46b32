import { describe, expect, it } from "vitest";
import {
  MAX_PREPARED_STATEMENTS,
  PREPARE_AFTER,
  MAX_COUNTED_TEXTS,
  PreparedStatementNames,
} from "../../../src/platform/postgres/prepared-statements.ts";

/** The name that `text` has after so many sights. */
function nameAfterUses(names: PreparedStatementNames, text: string, times: number): string | undefined {
  for (let n = 1; n < times; n += 1) names.nameOf(text);
  return names.nameOf(text);
}

describe("the names of prepared statements", () => {
  it("are given to a text from its fifth sight on, one for good", () => {
    const names = new PreparedStatementNames();
    expect(nameAfterUses(names, "select 1", PREPARE_AFTER - 1)).toBeUndefined();
    const name = names.nameOf("select 1");
    expect(name).toMatch(/^w\d+$/);
    expect(nameAfterUses(names, "select 1", 3)).toBe(name);
    expect(nameAfterUses(names, "select 2", PREPARE_AFTER)).not.toBe(name);
  });

  it("are not used up by texts that come once", () => {
    const names = new PreparedStatementNames();
    for (let n = 0; n < 10 * MAX_PREPARED_STATEMENTS; n += 1)
      expect(names.nameOf(`select ${n}`)).toBeUndefined();
    expect(nameAfterUses(names, "select 'hot'", PREPARE_AFTER)).toBeDefined();
  });

  it("are given to a text that comes again among so many others as are remembered", () => {
    const names = new PreparedStatementNames();
    for (let sight = 1; sight < PREPARE_AFTER; sight += 1) {
      expect(names.nameOf("select 'hot'")).toBeUndefined();
      for (let n = 1; n < MAX_COUNTED_TEXTS; n += 1) names.nameOf(`select ${sight}, ${n}`);
    }
    expect(names.nameOf("select 'hot'")).toBeDefined();
  });

  it("are not given for sights that so many others have made forget", () => {
    const names = new PreparedStatementNames();
    nameAfterUses(names, "select 'rare'", PREPARE_AFTER - 1);
    for (let n = 0; n < MAX_COUNTED_TEXTS; n += 1) names.nameOf(`select ${n}`);
    expect(names.nameOf("select 'rare'")).toBeUndefined();
  });

  it("end at a bound, and those that have one keep it", () => {
    const names = new PreparedStatementNames();
    const given = Array.from({ length: MAX_PREPARED_STATEMENTS }, (_, n) =>
      nameAfterUses(names, `select ${n}`, PREPARE_AFTER),
    );
    expect(new Set(given).size).toBe(MAX_PREPARED_STATEMENTS);
    expect(nameAfterUses(names, "select 'more'", 10 * PREPARE_AFTER)).toBeUndefined();
    expect(given.map((_, n) => names.nameOf(`select ${n}`))).toEqual(given);
  });
});
