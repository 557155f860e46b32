/**
 * Compiles operations with graphql-jit, where it returns exactly what graphql-js returns. It differs in three points:
 * - `@skip` and `@include`: such operations are not compiled.
 * - Variables nested in arguments, where an absent one becomes null: then graphql-js runs the operation.
 * - Variable coercion, which never ends for a recursive input type: compiled operations get coerced variables.
 */
import {
  GraphQLScalarType,
  GraphQLSchema,
  Kind,
  visit,
  type DocumentNode,
  type ExecutionResult,
  type OperationDefinitionNode,
  type ValueNode,
  type VariableDefinitionNode,
} from "graphql";
import { compileQuery, isCompiledQuery } from "graphql-jit";
import { planOf } from "./operation-plan.ts";

/** Operations with more fields take too long to compile. */
const MAX_FIELDS = 200;

/** The declared type of every variable of a compiled operation, so that graphql-jit does not coerce values again. */
const coercedInput = new GraphQLScalarType({ name: "CoercedInput" });

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
    const { introspection, fieldCount } = planOf(schema, document, operation);
    if (introspection.length > 0 || fieldCount > MAX_FIELDS || !isCompilable(document)) return null;
    const nested = nestedVariablesOf(document);
    const compiledQuery = compileQuery(
      compilerSchema,
      withCoercedVariables(isolateOperation(document, operation)),
      operation.name?.value ?? "",
    );
    if (!isCompiledQuery(compiledQuery)) return null;
    return (context, variables) =>
      nested.every((name) => (variables[name] ?? null) !== null)
        ? compiledQuery.query(undefined, context, variables)
        : null;
  };
}

function isCompilable(document: DocumentNode): boolean {
  let compilable = true;
  const reject = (): void => {
    compilable = false;
  };
  visit(document, {
    Directive: reject,
    Field({ alias }) {
      if (alias?.value === "__proto__") reject();
    },
  });
  return compilable;
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

/** Returns the document without its other operations. */
function isolateOperation({ definitions }: DocumentNode, operation: OperationDefinitionNode): DocumentNode {
  const fragments = definitions.filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION);
  return { kind: Kind.DOCUMENT, definitions: [operation, ...fragments] };
}

function withCoercedVariables(document: DocumentNode): DocumentNode {
  return visit(document, {
    OperationDefinition({ variableDefinitions = [], ...operation }) {
      const names = variableDefinitions.map(({ variable }) => variable.name.value);
      return { ...operation, variableDefinitions: names.map(coercedVariable) };
    },
  });
}

function coercedVariable(name: string): VariableDefinitionNode {
  return {
    kind: Kind.VARIABLE_DEFINITION,
    variable: { kind: Kind.VARIABLE, name: { kind: Kind.NAME, value: name } },
    type: { kind: Kind.NAMED_TYPE, name: { kind: Kind.NAME, value: coercedInput.name } },
  };
}
