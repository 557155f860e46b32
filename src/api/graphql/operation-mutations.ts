/** The mutations of operations: each is bound to the field of the SDL that has its name. */
import {
  getNamedType,
  getNullableType,
  isInputObjectType,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
} from "graphql";
import { z } from "zod";
import { authorize, execute, parseInput } from "../../operations/admit.ts";
import {
  mutationOf,
  type Operation,
  type RequestPrincipal,
  type RestOperation,
  takesQuery,
} from "../../operations/operation.ts";
import { type GraphqlContext, currentResponse } from "./context.ts";
import { keyedMutation, unwrapResponse } from "./keyed-mutation.ts";
import { duringExternalCall } from "../context.ts";
import { organizationUuid } from "./nodes.ts";
import type { GraphqlServices } from "./services.ts";
import { type ErrorPath, thrownUserErrors } from "./user-errors.ts";

type Values = Readonly<Record<string, unknown>>;
type AnyOperation = Operation<GraphqlServices> | RestOperation<GraphqlServices>;

/** Converts arguments that are not the input of the operation, and results that are not the payload. */
export interface Adjustment {
  /** Returns the input for the arguments. Throws BadRequestException. */
  readonly toInput?: (args: Values) => Values;
  /** Returns the payload for the result, without `userErrors`. */
  readonly toPayload?: (result: never) => object;
}

type MutationResolver = (root: unknown, args: Values, context: GraphqlContext) => Promise<object>;

/** Functions that return the node for a value of the operation, by the type in the SDL. */
export type ToNodes = Readonly<Record<string, (value: never) => object>>;

/**
 * Returns a resolver for every operation that has a field. `adjustments` are by the name of the field; `toNodes` are for operations
 * without a route in REST, whose result has no view. An error of access is a top-level error; an expected error of the change
 * becomes `userErrors`, and the payload's other fields null.
 */
export function operationMutations(
  schema: GraphQLSchema,
  operations: readonly AnyOperation[],
  adjustments: Readonly<Record<string, Adjustment>>,
  toNodes: ToNodes,
): Record<string, MutationResolver> {
  const fields = schema.getMutationType()?.getFields() ?? {};
  return Object.fromEntries(
    operations.flatMap((operation) => {
      const name = mutationOf(operation);
      const field = operation.graphql === null ? undefined : fields[name];
      return field ? [[name, resolverOf(operation, field, adjustments[name] ?? {}, toNodes)] as const] : [];
    }),
  );
}

function resolverOf(
  operation: AnyOperation,
  { args: declared, type }: GraphQLField<unknown, unknown>,
  { toInput = (args) => args, toPayload }: Adjustment,
  toNodes: ToNodes,
): MutationResolver {
  const { graphql, params, input } = operation;
  /** The argument whose fields are the input; undefined if each argument is a part of the input. */
  const inputArgument = declared.find((argument) => isInputObjectType(getNullableType(argument.type)))?.name;
  const target = graphql?.subject ?? ["id", "markingNumber"].find((name) => name in params.shape);
  const targetArgument = declared.find(({ name }) => (graphql?.args?.[name] ?? name) === target)?.name;
  const errorPath: ErrorPath = {
    fields: inputArgument ?? "",
    subject: target === undefined ? null : (targetArgument ?? `${inputArgument}.${target}`),
  };
  const schema = z.object({ ...params.shape, ...input.shape });
  const { secrets = [] } = ("once" in operation && operation.once) || {};
  const payloadOf = (toPayload ?? payloadWriter(operation, type, toNodes)) as (result: unknown) => object;
  const read = inputReader(operation, inputArgument);

  return async (_root, args, context) => {
    const { requestId, ipAddress, services } = context;
    const principal: RequestPrincipal = { ...context.principal, requestId, ipAddress };
    authorize(operation.access, principal, read(args));
    const raw = read(toInput(args));
    const keyed = keyedMutation(mutationOf(operation), args);
    try {
      const call = {
        services,
        keyed,
        principal,
        organizationId: organizationOf(raw),
        input: parseInput(schema, raw, "body"),
        external: <Value>(work: () => Promise<Value>) => duringExternalCall(currentResponse(), work),
      };
      const response = await execute(operation, call, ({ data, changed }) => ({ data, changed, secrets }));
      return { ...payloadOf(unwrapResponse(response)), userErrors: [] };
    } catch (error) {
      const userErrors = thrownUserErrors(error, errorPath);
      if (userErrors === null) throw error;
      // GraphQL returns null for absent fields.
      return { userErrors };
    }
  };
}

/** Returns a function that returns the input in the arguments. Booleans are text in REST's query. Null is absent, except in a patch. */
function inputReader(operation: AnyOperation, inputArgument = ""): (args: Values) => Values {
  const isQuery = "rest" in operation && takesQuery(operation.rest);
  return ({ [inputArgument]: members, ...others }) =>
    Object.fromEntries(
      Object.entries({ ...others, ...(members as object) })
        .filter(([, value]) => value !== null || inputArgument === "patch")
        .map(([name, value]) => [
          operation.graphql?.args?.[name] ?? name,
          isQuery && typeof value === "boolean" ? String(value) : value,
        ]),
    );
}

/** Returns a function that returns the payload for a result: the result itself, or the payload's only field with it. */
function payloadWriter(
  operation: AnyOperation,
  type: GraphQLOutputType,
  toNodes: ToNodes,
): (result: never) => object {
  const { userErrors: _, ...fields } = (getNamedType(type) as GraphQLObjectType).getFields();
  const [[name, field], ...others] = Object.entries(fields) as [[string, GraphQLField<unknown, unknown>]];
  if ("rest" in operation) {
    const { output } = operation;
    const isPayload = output instanceof z.ZodObject && name in output.shape;
    return (result) => (isPayload ? result : { [name]: result });
  }
  const toNode = toNodes[getNamedType(field.type).name] ?? ((value: object) => value);
  return (result) => (others.length > 0 ? result : { [name]: toNode(result) });
}

function organizationOf({ organizationId = null }: Values): string | null {
  return organizationId === null ? null : organizationUuid("organizationId", organizationId as string);
}
