/** The mutations of operations: each is bound to the field of the SDL that has its name. */
import { Kind, type DocumentNode, type TypeNode } from "graphql";
import { z } from "zod";
import { authorize, execute, parseInput } from "../../operations/admit.ts";
import {
  mutationOf,
  type Operation,
  type RequestPrincipal,
  type RestOperation,
  takesQuery,
} from "../../operations/operation.ts";
import { organizationUuid } from "./arguments.ts";
import { requirePrincipal } from "./authorize.ts";
import type { GraphqlContext } from "./context.ts";
import { keyedMutation, unwrapResponse } from "./keyed-mutation.ts";
import type { GraphqlServices } from "./services.ts";
import { type ErrorPath, thrownUserErrors } from "./user-errors.ts";

type Values = Readonly<Record<string, unknown>>;

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
  typeDefs: DocumentNode,
  operations: readonly (Operation<GraphqlServices> | RestOperation<GraphqlServices>)[],
  adjustments: Readonly<Record<string, Adjustment>>,
  toNodes: ToNodes,
): Record<string, MutationResolver> {
  const sdl = readMutations(typeDefs);
  return Object.fromEntries(
    operations.flatMap((operation) => {
      const name = mutationOf(operation);
      const field = operation.graphql === null ? undefined : sdl.get(name);
      return field ? [[name, resolverOf(operation, field, adjustments[name] ?? {}, toNodes)] as const] : [];
    }),
  );
}

interface MutationField {
  readonly args: readonly string[];
  /** The argument whose fields are the input; null if each argument is a part of the input. */
  readonly inputArgument: string | null;
  /** The fields of the payload, except `userErrors`, and their types. */
  readonly payload: ReadonlyMap<string, string>;
}

function readMutations({ definitions }: DocumentNode): Map<string, MutationField> {
  const inputs = new Set(
    definitions.flatMap((one) => (one.kind === Kind.INPUT_OBJECT_TYPE_DEFINITION ? one.name.value : [])),
  );
  /** Of the type and its extensions. */
  const fieldsOf = (type: string) =>
    definitions.flatMap((one) =>
      (one.kind === Kind.OBJECT_TYPE_DEFINITION || one.kind === Kind.OBJECT_TYPE_EXTENSION) &&
      one.name.value === type
        ? (one.fields ?? [])
        : [],
    );
  return new Map(
    fieldsOf("Mutation").map(({ name, arguments: args = [], type }) => [
      name.value,
      {
        args: args.map((argument) => argument.name.value),
        inputArgument:
          args.find(({ type: given }) => !isList(given) && inputs.has(nameOf(given)))?.name.value ?? null,
        payload: new Map(
          fieldsOf(nameOf(type))
            .filter((field) => field.name.value !== "userErrors")
            .map((field) => [field.name.value, nameOf(field.type)]),
        ),
      },
    ]),
  );
}

function isList(type: TypeNode): boolean {
  return type.kind === Kind.LIST_TYPE || (type.kind === Kind.NON_NULL_TYPE && isList(type.type));
}

function nameOf(type: TypeNode): string {
  return type.kind === Kind.NAMED_TYPE ? type.name.value : nameOf(type.type);
}

function resolverOf(
  operation: Operation<GraphqlServices> | RestOperation<GraphqlServices>,
  { args: names, inputArgument, payload }: MutationField,
  { toInput = (args) => args, toPayload }: Adjustment,
  toNodes: ToNodes,
): MutationResolver {
  const { graphql, params, input } = operation;
  const renamed = graphql?.args ?? {};
  const target = graphql?.subject ?? ["id", "markingNumber"].find((name) => name in params.shape);
  const targetArgument = names.find((name) => (renamed[name] ?? name) === target);
  const errorPath: ErrorPath = {
    fields: inputArgument ?? "",
    subject: target === undefined ? null : (targetArgument ?? `${inputArgument}.${target}`),
  };
  const schema = z.object({ ...params.shape, ...input.shape });
  const { secrets = [] } = ("once" in operation && operation.once) || {};
  const payloadOf = (toPayload ?? payloadWriter(operation, payload, toNodes)) as (result: unknown) => object;

  /** Times are text as in REST, and so is all of an input that is REST's query. Null is absent, except in a patch. */
  const isText = "rest" in operation && takesQuery(operation.rest);
  const read = (args: Values): Values => {
    const { [inputArgument ?? ""]: members, ...others } = args;
    const entries = Object.entries({ ...others, ...(members as object) });
    return Object.fromEntries(
      entries
        .filter(([, value]) => value !== null || inputArgument === "patch")
        .map(([name, value]) => [renamed[name] ?? name, toText(value, isText)]),
    );
  };

  return async (_root, args, context) => {
    const { requestId, ipAddress, services, duringExternalCall: external } = context;
    const principal: RequestPrincipal = { ...requirePrincipal(context), requestId, ipAddress };
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
        external,
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

/** Returns a function that returns the payload for a result: the result itself, or the payload's only field with it. */
function payloadWriter(
  operation: Operation<never> | RestOperation<never>,
  payload: MutationField["payload"],
  toNodes: ToNodes,
): (result: never) => object {
  const [[field, type] = ["", ""]] = payload;
  if (!("rest" in operation)) {
    const { [type]: toNode = (value: unknown) => value } = toNodes;
    return payload.size > 1 ? (result) => result : (result) => ({ [field]: toNode(result) });
  }
  const { output } = operation;
  const isPayload = output instanceof z.ZodObject && field in output.shape;
  return (result) => (isPayload ? result : { [field]: result });
}

function toText(value: unknown, isText: boolean): unknown {
  if (value instanceof Date) return value.toISOString();
  return isText && typeof value === "boolean" ? String(value) : value;
}

function organizationOf({ organizationId = null }: Values): string | null {
  return organizationId === null ? null : organizationUuid("organizationId", organizationId as string);
}
