import { describe, expect, it } from "vitest";
import { join, raw, sql } from "../../../src/core/postgres/sql.ts";

describe("sql", () => {
  // evidence: sql-values-bound
  it("binds values and never writes them into the text", () => {
    const hostile = "'; drop table job --";
    expect(sql`select ${hostile}, ${1}`.compile()).toEqual({ text: "select $1, $2", values: [hostile, 1] });
  });

  it("numbers placeholders across nested fragments, in the order of the text", () => {
    const inner = sql`b = ${2}`;
    const { text, values } = sql`a = ${1} and ${inner} and c = ${3} and ${inner}`.compile();
    expect({ text, values }).toEqual({
      text: "a = $1 and b = $2 and c = $3 and b = $4",
      values: [1, 2, 3, 2],
    });
  });

  it("compiles to the same result each time", () => {
    const statement = sql`select ${1} where ${sql`x = ${2}`}`;
    expect(statement.compile()).toEqual(statement.compile());
  });

  it("keeps null, undefined, lists and objects as values", () => {
    const values = [null, undefined, [1, 2], { a: 1 }];
    expect(sql`${values[0]} ${values[1]} ${values[2]} ${values[3]}`.compile().values).toEqual(values);
  });

  it("leaves dollar signs and question marks in its text unchanged", () => {
    expect(sql`select '$1' ? ${1}`.compile().text).toBe("select '$1' ? $1");
  });

  it("inserts raw text and joins fragments", () => {
    expect(join([sql`a = ${1}`, raw("b"), sql`c = ${3}`], " and ").compile()).toEqual({
      text: "a = $1 and b and c = $2",
      values: [1, 3],
    });
    expect(join([sql`a`], ", ").compile().text).toBe("a");
    expect(join([], ", ").compile()).toEqual({ text: "", values: [] });
  });
});
