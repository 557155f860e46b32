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
import { liftArguments, withLifted, type LiftedArgument } from "./lift.ts";
import { planOf } from "./plan.ts";

/** Beyond so many fields the code takes too long to make. */
const MAX_FIELDS = 200;

/** The type of every variable, as graphql-jit sees it: what is coerced already is taken as it is. */
const coercedInput = new GraphQLScalarType({ name: "CoercedInput" });

/** Runs an operation with coerced variables; null where it is left to graphql-js with these. */
export type Code = (
  context: unknown,
  variables: Readonly<Record<string, unknown>>,
) => ExecutionResult | Promise<ExecutionResult> | null;

/** Compiles an operation; null where it is left to graphql-js. */
export function createCompiler(
  schema: GraphQLSchema,
): (document: DocumentNode, operation: OperationDefinitionNode) => Code | null {
  const config = schema.toConfig();
  const compiled = new GraphQLSchema({
    ...config,
    types: [...config.types, coercedInput],
    assumeValid: true,
  });
  return (document, operation) => {
    const { introspection, fieldCount } = planOf(schema, document, operation);
    if (introspection.length > 0 || fieldCount > MAX_FIELDS || !isPlain(document)) return null;
    const { document: plain, lifted } = liftArguments(schema, alone(document, operation));
    const code = compileQuery(compiled, withCoercedVariables(plain, lifted), operation.name?.value ?? "");
    if (!isCompiledQuery(code)) return null;
    return (context, variables) => {
      const all = withLifted(lifted, variables);
      return all && code.query(undefined, context, all);
    };
  };
}

function isPlain(document: DocumentNode): boolean {
  let plain = true;
  const refuse = (): void => {
    plain = false;
  };
  visit(document, {
    Directive: refuse,
    Field({ alias }) {
      if (alias?.value === "__proto__") refuse();
    },
  });
  return plain;
}

/** The operation with the fragments of its document, without the other operations. */
function alone({ definitions }: DocumentNode, operation: OperationDefinitionNode): DocumentNode {
  const fragments = definitions.filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION);
  return { kind: Kind.DOCUMENT, definitions: [operation, ...fragments] };
}

function withCoercedVariables(document: DocumentNode, lifted: readonly LiftedArgument[]): DocumentNode {
  return visit(document, {
    OperationDefinition({ variableDefinitions = [], ...operation }) {
      const names = [
        ...variableDefinitions.map(({ variable }) => variable.name.value),
        ...lifted.map(({ name }) => name),
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
