import { describe, expect, it } from "vitest";
import {
  MAX_PREPARED_STATEMENTS,
  PREPARE_AFTER,
  MAX_COUNTED_TEXTS,
  PreparedStatementNames,
} from "../../../src/core/postgres/sql.ts";

/** Uses `text` the given number of times and returns its name. */
function nameAfterUses(names: PreparedStatementNames, text: string, times: number): string | undefined {
  for (let n = 1; n < times; n += 1) names.nameOf(text);
  return names.nameOf(text);
}

describe("PreparedStatementNames", () => {
  it("names a text at its fifth use, and keeps the name", () => {
    const names = new PreparedStatementNames();
    expect(nameAfterUses(names, "select 1", PREPARE_AFTER - 1)).toBeUndefined();
    const name = names.nameOf("select 1");
    expect(name).toMatch(/^w\d+$/);
    expect(nameAfterUses(names, "select 1", 3)).toBe(name);
    expect(nameAfterUses(names, "select 2", PREPARE_AFTER)).not.toBe(name);
  });

  it("counts again after as many texts as are counted", () => {
    const names = new PreparedStatementNames();
    nameAfterUses(names, "select 'rare'", PREPARE_AFTER - 1);
    for (let n = 0; n < MAX_COUNTED_TEXTS; n += 1) names.nameOf(`select ${n}`);
    expect(nameAfterUses(names, "select 'rare'", PREPARE_AFTER - 1)).toBeUndefined();
    expect(names.nameOf("select 'rare'")).toBeDefined();
  });

  it("stops assigning names at the limit, and keeps the assigned ones", () => {
    const names = new PreparedStatementNames();
    const assigned = Array.from({ length: MAX_PREPARED_STATEMENTS }, (_, n) =>
      nameAfterUses(names, `select ${n}`, PREPARE_AFTER),
    );
    expect(new Set(assigned).size).toBe(MAX_PREPARED_STATEMENTS);
    expect(nameAfterUses(names, "select 'more'", 10 * PREPARE_AFTER)).toBeUndefined();
    expect(assigned.map((_, n) => names.nameOf(`select ${n}`))).toEqual(assigned);
  });
});
