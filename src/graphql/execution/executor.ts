/**
 * Executing an operation: by graphql-js the first time that its document comes, from then on as code that graphql-jit
 * makes of it. Both give the same result; the code takes milliseconds to make and is worth it for what comes again.
 */
import type { ApolloServerOptionsWithGateway, BaseContext } from "@apollo/server";
import {
  execute,
  GraphQLError,
  type DocumentNode,
  type ExecutionResult,
  type GraphQLSchema,
  type OperationDefinitionNode,
} from "graphql";
import { invariant } from "../../platform/errors.ts";
import { withSpan, type Tracing } from "../../platform/tracing/tracing.ts";
import { createCompiler, type CompiledOperation } from "./jit.ts";
import type { ErrorFormatter } from "./error-formatter.ts";
import { operationSpan } from "./operation-span.ts";
import { variableErrors } from "./variable-errors.ts";
import { currentRequest } from "../request-store.ts";

/** Compiled operations in memory; past that the one that was asked for longest ago is forgotten. */
const MAX_COMPILED = 200;

export interface ExecutableOperation {
  readonly document: DocumentNode;
  readonly operation: OperationDefinitionNode;
  readonly context: unknown;
  /** As they came. */
  readonly variables: Record<string, unknown>;
  /** With defaults, and checked. */
  readonly coercedVariables: Readonly<Record<string, unknown>>;
}

/** Apollo's door for an executor of one's own. */
type Gateway = NonNullable<ApolloServerOptionsWithGateway<BaseContext>["gateway"]>;

/** Executes operations that passed the guard. */
export function createExecutor(
  schema: GraphQLSchema,
): (operation: ExecutableOperation) => Promise<ExecutionResult> {
  const cache = new CompiledOperationCache(schema);
  return async ({ document, operation, context, variables, coercedVariables }) => {
    const compiledOperation = cache.find(document, operation);
    const result = compiledOperation?.(context, coercedVariables);
    if (result) return await result;
    return await execute({
      schema,
      document,
      operationName: operation.name?.value,
      contextValue: context,
      variableValues: variables,
    });
  };
}

export function createGateway(
  schema: GraphQLSchema,
  errors: ErrorFormatter,
  tracing: Tracing | undefined,
): Gateway {
  const run = createExecutor(schema);
  return {
    onSchemaLoadOrUpdate(tell) {
      tell({ apiSchema: schema, coreSupergraphSdl: "" });
      return () => undefined;
    },
    load: () =>
      Promise.resolve({
        async executor({ document, operation, context, request: { operationName, variables = {} } }) {
          const { measured } = currentRequest();
          if (!operation) return unknownOperation(operationName);
          if (!measured) return invalidVariables(schema, operation, variables);
          const span = tracing?.startSpan(...operationSpan(operation.operation, operation.name?.value));
          return errors.translateResult(
            await withSpan(span, () =>
              run({ document, operation, context, variables, coercedVariables: measured.variables }),
            ),
          );
        },
      }),
    stop: () => Promise.resolve(),
  };
}

// What has not passed the guard is never executed: these two answer as execution would.

function unknownOperation(name: string | null | undefined): ExecutionResult {
  const message =
    typeof name === "string"
      ? `Unknown operation named "${name}"`
      : "Say by operationName which operation is meant";
  return { errors: [new GraphQLError(message)] };
}

function invalidVariables(
  schema: GraphQLSchema,
  operation: OperationDefinitionNode,
  variables: Record<string, unknown>,
): ExecutionResult {
  const errors = variableErrors(schema, operation, variables);
  invariant(errors.length > 0, "an operation with valid variables has a cost");
  return { errors };
}

class CompiledOperationCache {
  readonly #compile: (document: DocumentNode, operation: OperationDefinitionNode) => CompiledOperation | null;
  readonly #seenOnce = new WeakSet<OperationDefinitionNode>();
  /** In the order in which they were asked for; null: better left to graphql-js. */
  readonly #entries = new Map<OperationDefinitionNode, CompiledOperation | null>();

  constructor(schema: GraphQLSchema) {
    this.#compile = createCompiler(schema);
  }

  /** Apollo keeps a document that it knows as one and the same object, and so its operations. */
  find(document: DocumentNode, operation: OperationDefinitionNode): CompiledOperation | null {
    const cached = this.#entries.get(operation);
    if (cached === undefined && !this.#seenOnce.has(operation)) {
      this.#seenOnce.add(operation);
      return null;
    }
    const compiledOperation = cached === undefined ? this.#compile(document, operation) : cached;
    this.#entries.delete(operation);
    this.#entries.set(operation, compiledOperation);
    const [oldest] = this.#entries.keys();
    if (oldest && this.#entries.size > MAX_COMPILED) this.#entries.delete(oldest);
    return compiledOperation;
  }
}
