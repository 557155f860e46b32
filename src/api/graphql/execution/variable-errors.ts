/** Errors of an operation's variables. They name the problem and not the value, which can be large or secret. */
import {
  coerceInputValue,
  GraphQLError,
  isNonNullType,
  typeFromAST,
  type GraphQLInputType,
  type GraphQLSchema,
  type OperationDefinitionNode,
  type VariableDefinitionNode,
} from "graphql";
import { MAX_PROBLEMS } from "../../../core/errors.ts";

/** graphql-js repeats a wrong number or name in its message. */
const MAX_MESSAGE_LENGTH = 200;

/** Returns the first 20 errors, or none if all variables are valid. `field` is a path such as `variables.filter.createdAt.gte`. */
export function variableErrors(
  schema: GraphQLSchema,
  { variableDefinitions = [] }: OperationDefinitionNode,
  variables: Readonly<Record<string, unknown>>,
): readonly GraphQLError[] {
  const errors: GraphQLError[] = [];
  const tooMany = new Error("There are more problems than a response lists");
  const report = (error: GraphQLError): void => {
    errors.push(error);
    // Finding all takes long: each unknown member is compared with all known ones.
    if (errors.length === MAX_PROBLEMS) throw tooMany;
  };
  try {
    for (const definition of variableDefinitions) checkVariable(schema, definition, variables, report);
  } catch (error) {
    if (error !== tooMany) throw error;
  }
  return errors;
}

function checkVariable(
  schema: GraphQLSchema,
  nodes: VariableDefinitionNode,
  variables: Readonly<Record<string, unknown>>,
  report: (error: GraphQLError) => void,
): void {
  const name = nodes.variable.name.value;
  const type = typeFromAST(schema, nodes.type) as GraphQLInputType;
  const value = Object.hasOwn(variables, name) ? variables[name] : undefined;
  if (value === undefined && (nodes.defaultValue || !isNonNullType(type))) return;
  /** `text` is the message after the variable's name. */
  const add = (path: string, code: string, message: string, text = message): void => {
    const problems = [{ field: `variables.${path}`, code, message }];
    const extensions = { code: "BAD_USER_INPUT", problems };
    report(new GraphQLError(`Variable "$${name}" ${text}`, { nodes, extensions }));
  };
  if (value === undefined || (value === null && isNonNullType(type)))
    return add(name, "required", `must be a value of type ${String(type)}`);
  coerceInputValue(value, type, (keys, _invalid, error) => {
    const path = [name, ...keys].join(".");
    const message = error.message.slice(0, MAX_MESSAGE_LENGTH).toWellFormed();
    add(path, "invalid_value", message, `is invalid at ${path}: ${message}`);
  });
}
