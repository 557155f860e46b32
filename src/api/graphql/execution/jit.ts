/**
 * Compiles operations with graphql-jit, where it returns exactly what graphql-js returns. It differs in four points:
 * - `@skip` and `@include`: such operations are not compiled.
 * - The alias `__proto__`, which its results lose: such operations are not compiled.
 * - Variables nested in arguments, where an absent one becomes null: then graphql-js runs the operation.
 * - Variable coercion, which never ends for a recursive input type: compiled operations get coerced variables.
 */
import {
  GraphQLScalarType,
  GraphQLSchema,
  Kind,
  print,
  visit,
  type DocumentNode,
  type ExecutionResult,
  type NamedTypeNode,
  type OperationDefinitionNode,
  type ValueNode,
} from "graphql";
import { compileQuery, isCompiledQuery } from "graphql-jit";
import { planOf } from "./operation-plan.ts";

/** Operations with more fields take too long to compile. */
const MAX_FIELDS = 200;

/** The declared type of every variable of a compiled operation, so that graphql-jit does not coerce values again. */
const coercedInput = new GraphQLScalarType({ name: "CoercedInput" });
const coercedType: NamedTypeNode = {
  kind: Kind.NAMED_TYPE,
  name: { kind: Kind.NAME, value: coercedInput.name },
};

/** Runs an operation with coerced variables. Returns null if graphql-js must run it with these variables. */
export type CompiledOperation = (
  context: unknown,
  variables: Readonly<Record<string, unknown>>,
) => ExecutionResult | Promise<ExecutionResult> | null;

/** Returns a compiler. It returns null for operations that graphql-js must run. */
export function createCompiler(
  schema: GraphQLSchema,
): (document: DocumentNode, operation: OperationDefinitionNode) => CompiledOperation | null {
  const config = schema.toConfig();
  const compilerSchema = new GraphQLSchema({
    ...config,
    types: [...config.types, coercedInput],
    assumeValid: true,
  });
  return (document, operation) => {
    const { introspection, fieldCount, hasDirectives } = planOf(schema, document, operation);
    if (introspection.length > 0 || fieldCount > MAX_FIELDS || hasDirectives) return null;
    if (print(document).includes("__proto__")) return null;
    const nested = nestedVariablesOf(document);
    const compiledQuery = compileQuery(
      compilerSchema,
      withCoercedVariables(document, operation),
      operation.name?.value ?? "",
    );
    if (!isCompiledQuery(compiledQuery)) return null;
    return (context, variables) =>
      nested.every((name) => (variables[name] ?? null) !== null)
        ? compiledQuery.query(undefined, context, variables)
        : null;
  };
}

/** Returns the variables that are parts of lists or objects in arguments. */
function nestedVariablesOf(document: DocumentNode): string[] {
  const names = new Set<string>();
  const add = (value: ValueNode): void => {
    if (value.kind === Kind.VARIABLE) names.add(value.name.value);
  };
  visit(document, {
    ListValue: ({ values }) => values.forEach(add),
    ObjectField: ({ value }) => add(value),
  });
  return [...names];
}

/** Returns the document with only this operation. */
function withCoercedVariables(
  { definitions }: DocumentNode,
  { variableDefinitions = [], ...operation }: OperationDefinitionNode,
): DocumentNode {
  const fragments = definitions.filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION);
  const coerced = variableDefinitions.map(({ kind, variable }) => ({ kind, variable, type: coercedType }));
  return { kind: Kind.DOCUMENT, definitions: [{ ...operation, variableDefinitions: coerced }, ...fragments] };
}
