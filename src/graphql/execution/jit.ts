/**
 * Operations as code, by graphql-jit, in the part of the language where that answers exactly as graphql-js does. Left out is
 * what it does otherwise: `@skip` and `@include`, variables within lists and objects (one that is not given becomes null
 * there), which are lifted, and variables themselves, which it gets coerced (its own coercion never ends for an input type
 * that holds itself).
 */
import {
  GraphQLScalarType,
  GraphQLSchema,
  Kind,
  visit,
  type DocumentNode,
  type ExecutionResult,
  type OperationDefinitionNode,
  type VariableDefinitionNode,
} from "graphql";
import { compileQuery, isCompiledQuery } from "graphql-jit";
import { hoistArguments, withHoisted, type HoistedArgument } from "./hoist-arguments.ts";
import { planOf } from "./operation-plan.ts";

/** Beyond so many fields the code takes too long to make. */
const MAX_FIELDS = 200;

/** The type of every variable, as graphql-jit sees it: what is coerced already is taken as it is. */
const coercedInput = new GraphQLScalarType({ name: "CoercedInput" });

/** Runs an operation with coerced variables; null where it is left to graphql-js with these. */
export type CompiledOperation = (
  context: unknown,
  variables: Readonly<Record<string, unknown>>,
) => ExecutionResult | Promise<ExecutionResult> | null;

/** Compiles an operation; null where it is left to graphql-js. */
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
    const { document: hoistedDocument, lifted: hoisted } = hoistArguments(
      schema,
      isolateOperation(document, operation),
    );
    const compiledQuery = compileQuery(
      compilerSchema,
      withCoercedVariables(hoistedDocument, hoisted),
      operation.name?.value ?? "",
    );
    if (!isCompiledQuery(compiledQuery)) return null;
    return (context, variables) => {
      const all = withHoisted(hoisted, variables);
      return all && compiledQuery.query(undefined, context, all);
    };
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

/** The operation with the fragments of its document, without the other operations. */
function isolateOperation({ definitions }: DocumentNode, operation: OperationDefinitionNode): DocumentNode {
  const fragments = definitions.filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION);
  return { kind: Kind.DOCUMENT, definitions: [operation, ...fragments] };
}

function withCoercedVariables(document: DocumentNode, hoisted: readonly HoistedArgument[]): DocumentNode {
  return visit(document, {
    OperationDefinition({ variableDefinitions = [], ...operation }) {
      const names = [
        ...variableDefinitions.map(({ variable }) => variable.name.value),
        ...hoisted.map(({ name }) => name),
      ];
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
