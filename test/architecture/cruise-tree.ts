import { cruise, type ICruiseResult } from "dependency-cruiser";
import swcVisitor from "@swc/core/Visitor.js";
import type { Statement, VariableDeclarator } from "@swc/core";
import { rules } from "./rules.ts";

/** What swc parses `using` and `await using` to; its own types do not know it yet. */
interface UsingDeclaration {
  type: "UsingDeclaration";
  decls: VariableDeclarator[];
}

// swc's visitor, which dependency-cruiser goes by, throws on `using`. It is taught to look inside.
// oxlint-disable-next-line typescript/no-deprecated -- dependency-cruiser is built on it
const { prototype } = swcVisitor.Visitor;
// oxlint-disable-next-line typescript/unbound-method -- bound at each call
const { visitStatement } = prototype;
prototype.visitStatement = function visitStatementOrUsing(
  statement: Statement | UsingDeclaration,
): Statement {
  if (statement.type !== "UsingDeclaration") return visitStatement.call(this, statement);
  this.visitVariableDeclarators(statement.decls);
  return statement as unknown as Statement;
};

/** The modules under `src/` of a tree, their dependencies, and what breaks the rules. */
export async function cruiseTree(baseDir: string): Promise<ICruiseResult> {
  const { output } = await cruise(["src"], {
    baseDir,
    // TypeScript 7 has no API that dependency-cruiser could parse with; without swc it sees no module at all.
    parser: "swc",
    tsPreCompilationDeps: true,
    doNotFollow: "node_modules",
    validate: true,
    ruleSet: { forbidden: rules.map((rule) => ({ ...rule, severity: "error" })) },
  });
  if (typeof output === "string") throw new Error(`dependency-cruiser answered with text: ${output}`);
  return output;
}
