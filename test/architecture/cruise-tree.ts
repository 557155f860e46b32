import { cruise, type ICruiseResult } from "dependency-cruiser";
import swcVisitor from "@swc/core/Visitor.js";
import type { Statement, VariableDeclarator } from "@swc/core";
import { rules } from "./rules.ts";

/** swc's syntax node for `using` and `await using`, which its types do not declare yet. */
interface UsingDeclaration {
  type: "UsingDeclaration";
  decls: VariableDeclarator[];
}

// swc's visitor, which dependency-cruiser uses, throws on `using`, so this visits its declarations.
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

/** Returns the modules under `src/` of a tree, their dependencies and the rule violations. */
export async function cruiseTree(baseDir: string): Promise<ICruiseResult> {
  const { output } = await cruise(["src"], {
    baseDir,
    // dependency-cruiser cannot use TypeScript 7, and without swc it finds no modules.
    parser: "swc",
    tsPreCompilationDeps: true,
    doNotFollow: "node_modules",
    validate: true,
    ruleSet: { forbidden: rules.map((rule) => ({ ...rule, severity: "error" })) },
  });
  if (typeof output === "string") throw new Error(`dependency-cruiser answered with text: ${output}`);
  return output;
}
