/** Errors of an operation's variables. They name the problem and not the value, which can be large or secret. */
import {
  coerceInputValue,
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

/** graphql-js repeats a wrong number or name in its message. */
const MAX_MESSAGE_LENGTH = 200;

/** Returns the first 20 errors, or none if all variables are valid. `field` is a path such as `variables.filter.createdAt.gte`. */
export function variableErrors(
  schema: GraphQLSchema,
  { variableDefinitions = [] }: OperationDefinitionNode,
  variables: Readonly<Record<string, unknown>>,
): readonly GraphQLError[] {
  const errors: GraphQLError[] = [];
  for (const definition of variableDefinitions)
    for (const problem of problemsOf(schema, definition, variables)) {
      errors.push(toError(definition, problem));
      if (errors.length === MAX_PROBLEMS) return errors;
    }
  return errors;
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
  const tooMany = new Error("There are more problems than a response lists");
  try {
    coerceInputValue(value, type, (path, _invalid, error) => {
      const message = error.message.slice(0, MAX_MESSAGE_LENGTH).toWellFormed();
      problems.push({ field: [field, ...path].join("."), code: "invalid_value", message });
      // Each unknown member is compared with all known ones.
      if (problems.length === MAX_PROBLEMS) throw tooMany;
    });
  } catch (error) {
    if (error !== tooMany) throw error;
  }
  return problems;
}

function toError(definition: VariableDefinitionNode, problem: VariableProblem): GraphQLError {
  const path = problem.field.slice("variables.".length);
  const variable = `Variable "$${definition.variable.name.value}"`;
  const message =
    problem.code === "required"
      ? `${variable} ${problem.message}`
      : `${variable} is invalid at ${path}: ${problem.message}`;
  return new GraphQLError(message, {
    nodes: definition,
    extensions: { code: "BAD_USER_INPUT", problems: [problem] },
  });
}
