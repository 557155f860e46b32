/** An oxlint plugin for the static scan (.oxlintrc.scan.json): forbids HTML and SQL built from strings. */

interface Node {
  readonly type: string;
}

interface Member extends Node {
  readonly computed: boolean;
  readonly object: Node;
  readonly property: Node & { readonly name?: string };
}

interface Call extends Node {
  readonly callee: Member;
  readonly arguments: readonly (Node & {
    readonly expressions?: readonly Node[];
    readonly operator?: string;
  })[];
}

interface Context {
  report(problem: { node: Node; message: string }): void;
}

/** Properties and methods that parse a string as HTML. */
const HTML_SINKS = new Set([
  "innerHTML",
  "outerHTML",
  "srcdoc",
  "insertAdjacentHTML",
  "createContextualFragment",
]);
const QUERY_METHODS = new Set(["query", "execute"]);

const noMarkupFromText = {
  create: (context: Context) => ({
    MemberExpression(node: Member) {
      const { name = "" } = node.property;
      const isWrite = name === "write" || name === "writeln";
      const isDocument = "name" in node.object && node.object.name === "document";
      if (!node.computed && (HTML_SINKS.has(name) || (isWrite && isDocument)))
        context.report({
          node,
          message: `${name} parses a string as HTML. Create elements or set textContent`,
        });
    },
  }),
};

const noStatementFromText = {
  create: (context: Context) => ({
    CallExpression(node: Call) {
      const { callee } = node;
      if (callee.type !== "MemberExpression" || !QUERY_METHODS.has(callee.property.name ?? "")) return;
      const [statement] = node.arguments;
      const isTemplate = statement?.type === "TemplateLiteral" && (statement.expressions?.length ?? 0) > 0;
      if (isTemplate || (statement?.type === "BinaryExpression" && statement.operator === "+"))
        context.report({
          node,
          message: "The statement is built from strings. Use the sql tag of core/postgres/sql.ts",
        });
    },
  }),
};

export default {
  meta: { name: "waymark" },
  rules: { "no-markup-from-text": noMarkupFromText, "no-statement-from-text": noStatementFromText },
};
