/**
 * Executes operations: with graphql-js the first time, with code compiled by graphql-jit from the second time on.
 * Both return the same result. Compiling takes milliseconds, so it only pays off for repeated operations.
 */
import type { ApolloServerOptionsWithGateway, BaseContext } from "@apollo/server";
import {
  execute,
  GraphQLError,
  OperationTypeNode,
  type DocumentNode,
  type ExecutionResult,
  type GraphQLSchema,
  type OperationDefinitionNode,
} from "graphql";
import { startSpan, withSpan } from "../../../core/tracing/tracing.ts";
import { createCompiler, type CompiledOperation } from "./jit.ts";
import type { ErrorFormatter } from "./error-formatter.ts";
import { operationSpan } from "./operation-span.ts";
import { guardOperation, type OperationGuardDeps } from "./operation-guard.ts";
import { variableErrors } from "./variable-errors.ts";
import { inShare } from "../../context.ts";
import { currentRequest, currentResponse } from "../request-store.ts";

/** Compiled operations in memory. The least recently used one is evicted first. */
const MAX_COMPILED = 200;

export interface ExecutableOperation {
  readonly document: DocumentNode;
  readonly operation: OperationDefinitionNode;
  readonly context: unknown;
  /** Raw values from the request. */
  readonly variables: Record<string, unknown>;
  /** Validated, with defaults applied. */
  readonly coercedVariables: Readonly<Record<string, unknown>>;
}

/** Apollo's extension point for a custom executor. */
type Gateway = NonNullable<ApolloServerOptionsWithGateway<BaseContext>["gateway"]>;
type GatewayExecutor = NonNullable<Awaited<ReturnType<Gateway["load"]>>["executor"]>;

/** Returns a function that executes operations accepted by the operation guard. */
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

export function createGateway(deps: OperationGuardDeps & { errors: ErrorFormatter }): Gateway {
  const { schema, errors } = deps;
  const run = createExecutor(schema);

  const serve: GatewayExecutor = async ({ document, operation, context, request }) => {
    const { operationName, variables = {} } = request;
    if (!operation) return unknownOperation(operationName);
    const current = currentRequest();
    const measured = await guardOperation(deps, { document, operation, variables }, current);
    if (!measured) return { errors: variableErrors(schema, operation, variables) };
    if (operation.operation === OperationTypeNode.SUBSCRIPTION) {
      current.subscription = { schema, document, operationName, variableValues: variables };
      return { data: {} };
    }
    const { cost, variables: coercedVariables, shareKind } = measured;
    const span = startSpan(...operationSpan(operation.operation, operation.name?.value));
    const executed = { document, operation, context, variables, coercedVariables };
    const result = await inShare(currentResponse(), shareKind, () => withSpan(span, () => run(executed)));
    return { ...errors.translateResult(result), ...(result.data !== undefined && { extensions: { cost } }) };
  };

  return {
    onSchemaLoadOrUpdate(notify) {
      notify({ apiSchema: schema, coreSupergraphSdl: "" });
      return () => undefined;
    },
    load: () =>
      Promise.resolve({
        executor: (request) =>
          serve(request).catch((error: unknown) => ({ errors: [errors.translate(error)] })),
      }),
    stop: () => Promise.resolve(),
  };
}

/** Returns the error that execution would return. */
function unknownOperation(name: string | null | undefined): ExecutionResult {
  const message =
    typeof name === "string"
      ? `Unknown operation named "${name}"`
      : "operationName is required when a document has several operations";
  return { errors: [new GraphQLError(message)] };
}

class CompiledOperationCache {
  readonly #compile: (document: DocumentNode, operation: OperationDefinitionNode) => CompiledOperation | null;
  readonly #seenOnce = new WeakSet<OperationDefinitionNode>();
  /** In order of last use. Null: graphql-js runs the operation. */
  readonly #entries = new Map<OperationDefinitionNode, CompiledOperation | null>();

  constructor(schema: GraphQLSchema) {
    this.#compile = createCompiler(schema);
  }

  /** The cache key is object identity: Apollo caches parsed documents, so a repeated operation is the same object. */
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
