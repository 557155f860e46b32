import { describe, expect, it } from "vitest";
import { sql } from "../../../src/core/postgres/sql.ts";

describe("sql", () => {
  // evidence: sql-values-bound
  it("binds values and never writes them into the text", () => {
    const hostile = "'; drop table job --";
    expect(sql`select ${hostile}, ${1}`.compile()).toEqual({ text: "select $1, $2", values: [hostile, 1] });
  });

  it("numbers placeholders across nested fragments, in the order of the text", () => {
    const inner = sql`b = ${2}`;
    const statement = sql`a = ${1} and ${inner} and c = ${3} and ${inner}`;
    const compiled = { text: "a = $1 and b = $2 and c = $3 and b = $4", values: [1, 2, 3, 2] };
    expect([statement.compile(), statement.compile()]).toEqual([compiled, compiled]);
  });

  it("leaves dollar signs and question marks in its text unchanged", () => {
    expect(sql`select '$1' ? ${1}`.compile().text).toBe("select '$1' ? $1");
  });
});
