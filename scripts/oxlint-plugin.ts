/** Rules of our own for the static scan (.oxlintrc.scan.json), an oxlint plugin: ways in which text becomes code. */

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
  report(found: { node: Node; message: string }): void;
}

/** Properties that take text for markup, and methods that do. */
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
      const writes = name === "write" || name === "writeln";
      const ofDocument = "name" in node.object && node.object.name === "document";
      if (!node.computed && (HTML_SINKS.has(name) || (writes && ofDocument)))
        context.report({ node, message: `${name} takes text for markup. Make elements, or set textContent` });
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
          message: "A statement is put together as text. Use the sql tag of platform/sql.ts",
        });
    },
  }),
};

export default {
  meta: { name: "waymark" },
  rules: { "no-markup-from-text": noMarkupFromText, "no-statement-from-text": noStatementFromText },
};
