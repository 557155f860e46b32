/** The mutations of operations: each is bound to the field of the SDL that has its name. */
import { Kind, type DocumentNode, type FieldDefinitionNode, type TypeNode } from "graphql";
import { z } from "zod";
import { toProblems } from "../../core/zod-problems.ts";
import { admit, authorize } from "../../operations/admit.ts";
import type { RequestPrincipal, Operation } from "../../operations/operation.ts";
import { requirePrincipal } from "./authorize.ts";
import type { GraphqlContext } from "./context.ts";
import { type ErrorPath, thrownUserErrors } from "./user-errors.ts";
import type { GraphqlServices } from "./services.ts";

type Values = Readonly<Record<string, unknown>>;

/** What a mutation does differently, where its arguments are not those of the operation. */
export interface Adjustment {
  /** Returns the input for the arguments. Throws BadRequestException. */
  readonly toInput?: (args: Values) => Values;
  /** Returns the organisation for which an operator acts. */
  readonly forOrganization?: (principal: RequestPrincipal, args: Values) => RequestPrincipal;
}

type MutationResolver = (root: unknown, args: Values, context: GraphqlContext) => Promise<object>;

/**
 * Returns a resolver for every operation that has a field. An error of access is a top-level error; an expected error of the change
 * becomes `userErrors`, and the payload's other fields null.
 */
export function operationMutations(
  typeDefs: DocumentNode,
  operations: readonly Operation<GraphqlServices>[],
  adjustments: Readonly<Record<string, Adjustment>>,
): Record<string, MutationResolver> {
  const sdl = readMutations(typeDefs);
  return Object.fromEntries(
    operations.flatMap((operation) => {
      const name = operation.graphql?.field ?? operation.name;
      const field = sdl.get(name);
      return field ? [[name, resolverOf(operation, field, adjustments[name] ?? {})] as const] : [];
    }),
  );
}

/** A mutation of the SDL. */
interface MutationField {
  readonly args: readonly string[];
  /** The argument whose fields are the input; null if each argument is a part of the input. */
  readonly inputArgument: string | null;
  /** The fields of the payload, except `userErrors`. */
  readonly payload: readonly string[];
}

/** Reads the mutations of the SDL. */
function readMutations({ definitions }: DocumentNode): Map<string, MutationField> {
  const fieldsOf = (type: string) =>
    definitions.flatMap((definition) =>
      (definition.kind === Kind.OBJECT_TYPE_DEFINITION ||
        definition.kind === Kind.INPUT_OBJECT_TYPE_DEFINITION) &&
      definition.name.value === type
        ? [definition]
        : [],
    );
  const isInput = (type: TypeNode) =>
    fieldsOf(nameOf(type)).some(({ kind }) => kind === Kind.INPUT_OBJECT_TYPE_DEFINITION);
  const mutations = fieldsOf("Mutation").flatMap(({ fields = [] }) => fields as FieldDefinitionNode[]);
  return new Map(
    mutations.map(({ name, arguments: args = [], type }) => [
      name.value,
      {
        args: args.map((argument) => argument.name.value),
        inputArgument:
          args.find((argument) => argument.type.kind !== Kind.LIST_TYPE && isInput(argument.type))?.name
            .value ?? null,
        payload: fieldsOf(nameOf(type))
          .flatMap(({ fields = [] }) => fields.map((field) => field.name.value))
          .filter((field) => field !== "userErrors"),
      },
    ]),
  );
}

function nameOf(type: TypeNode): string {
  return type.kind === Kind.NAMED_TYPE ? type.name.value : nameOf(type.type);
}

function resolverOf(
  operation: Operation<GraphqlServices>,
  { args: names, inputArgument, payload }: MutationField,
  { toInput = (args) => args, forOrganization = (principal) => principal }: Adjustment,
): MutationResolver {
  const { graphql: { args: renamed = {} } = {}, params, input, output } = operation;
  const subject = names.find((name) => (renamed[name] ?? name) in params.shape) ?? null;
  const errorPath: ErrorPath = { fields: inputArgument ?? "", subject };
  const schema = z.object({ ...params.shape, ...input.shape });
  const [onlyField = ""] = payload;
  const hasOwnPayload = output instanceof z.ZodObject && onlyField in output.shape;

  /** Null and absent differ; times are text, as in REST. */
  const read = (args: Values): Values => {
    const { [inputArgument ?? ""]: members, ...others } = args;
    const entries = Object.entries(others).map(([name, value]) => [renamed[name] ?? name, toText(value)]);
    return { ...Object.fromEntries(entries), ...(members as object) } as Values;
  };

  return async (_root, args, context) => {
    const { requestId, ipAddress, services, duringExternalCall: external } = context;
    const principal: RequestPrincipal = { ...requirePrincipal(context), requestId, ipAddress };
    authorize(operation, principal, read(args));
    const raw = read(toInput(args));
    try {
      const parsed = schema.safeParse(raw);
      const change = await admit(operation, {
        services,
        principal: forOrganization(principal, args),
        input: {
          values: parsed.data ?? raw,
          problems: parsed.error ? toProblems(parsed.error, "body") : [],
        },
        external,
      });
      const result = await change();
      return { ...(hasOwnPayload ? (result as object) : { [onlyField]: result }), userErrors: [] };
    } catch (error) {
      const userErrors = thrownUserErrors(error, errorPath);
      if (userErrors === null) throw error;
      // GraphQL returns null for absent fields.
      return { userErrors };
    }
  };
}

function toText(value: unknown): unknown {
  return value instanceof Date ? value.toISOString() : value;
}
