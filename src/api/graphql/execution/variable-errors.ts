/** Errors of an operation's variables: those of graphql-js, each with `extensions.problems` added. */
import {
  coerceInputValue,
  getVariableValues,
  GraphQLError,
  isInputType,
  isNonNullType,
  typeFromAST,
  type GraphQLSchema,
  type OperationDefinitionNode,
  type VariableDefinitionNode,
} from "graphql";
import { MAX_PROBLEMS, type Problem } from "../../../core/errors.ts";

type VariableProblem = Omit<Problem, "location">;

/** Returns an empty list if all variables are valid. `field` is a path such as `variables.filter.createdAt.gte`. */
export function variableErrors(
  schema: GraphQLSchema,
  { variableDefinitions = [] }: OperationDefinitionNode,
  variables: Readonly<Record<string, unknown>>,
): readonly GraphQLError[] {
  const { errors = [] } = getVariableValues(schema, variableDefinitions, variables, {
    maxErrors: MAX_PROBLEMS,
  });
  if (errors.length === 0) return errors;
  // graphql-js reports one error per problem, in the same order.
  const problems = variableDefinitions.flatMap((definition) => problemsOf(schema, definition, variables));
  return errors.map((error, index) => withProblem(error, problems[index]));
}

function problemsOf(
  schema: GraphQLSchema,
  { type: typeNode, variable, defaultValue }: VariableDefinitionNode,
  variables: Readonly<Record<string, unknown>>,
): VariableProblem[] {
  const name = variable.name.value;
  const field = `variables.${name}`;
  const type = typeFromAST(schema, typeNode);
  if (!isInputType(type)) return [{ field, code: "invalid_type", message: "is not of an input type" }];
  const value = Object.hasOwn(variables, name) ? variables[name] : undefined;
  if (value === undefined && (defaultValue || !isNonNullType(type))) return [];
  if (value === undefined || (value === null && isNonNullType(type)))
    return [{ field, code: "required", message: `must be a value of type ${String(type)}` }];
  const problems: VariableProblem[] = [];
  coerceInputValue(value, type, (path, _invalid, { message }) => {
    problems.push({ field: [field, ...path].join("."), code: "invalid_value", message });
  });
  return problems;
}

function withProblem(error: GraphQLError, problem: VariableProblem | undefined): GraphQLError {
  if (!problem) return error;
  const { message, nodes = null, source = null, positions = null } = error;
  const extensions = { code: "BAD_USER_INPUT", problems: [problem] };
  return new GraphQLError(message, { nodes, source, positions, extensions });
}
