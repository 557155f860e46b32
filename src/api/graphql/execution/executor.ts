/**
 * Executes operations: with graphql-js the first time, with code compiled by graphql-jit from the second time on.
 * Both return the same result. Compiling takes milliseconds, so it only pays off for repeated operations.
 */
import type { ApolloServerOptionsWithGateway, BaseContext } from "@apollo/server";
import {
  execute,
  OperationTypeNode,
  type DocumentNode,
  type ExecutionResult,
  type GraphQLSchema,
  type OperationDefinitionNode,
} from "graphql";
import { badRequest } from "../../../core/errors.ts";
import { startSpan, withSpan } from "../../../core/tracing/tracing.ts";
import { inShare } from "../../context.ts";
import { currentRequest, currentResponse } from "../context.ts";
import type { ErrorFormatter } from "./error-formatter.ts";
import { createCompiler, type CompiledOperation } from "./jit.ts";
import { isExcluded } from "./operation-plan.ts";
import { guardOperation, type OperationGuardDeps } from "./operation-guard.ts";
import { operationSpan } from "./operation-span.ts";
import { variableErrors } from "./variable-errors.ts";

/** Compiled operations in memory. The oldest one is evicted first. */
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
  const compile = createCompiler(schema);
  // By the operation's object: Apollo caches parsed documents, so a repeated operation is the same object.
  const seen = new WeakSet<OperationDefinitionNode>();
  /** Null: graphql-js runs the operation. */
  const compiled = new Map<OperationDefinitionNode, CompiledOperation | null>();

  return async ({ document, operation, context, variables, coercedVariables }) => {
    if (seen.has(operation) && !compiled.has(operation)) {
      compiled.set(operation, compile(document, operation));
      const [oldest] = compiled.keys();
      if (oldest && compiled.size > MAX_COMPILED) compiled.delete(oldest);
    }
    seen.add(operation);
    const result = compiled.get(operation)?.(context, coercedVariables);
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
    // Returns the error of a document that has no operation of this name.
    if (!operation) return await execute({ schema, document, operationName });
    const current = currentRequest();
    const measured = await guardOperation(deps, { document, operation, variables }, current);
    if (!measured) return { errors: variableErrors(schema, operation, variables) };
    if (operation.operation === OperationTypeNode.SUBSCRIPTION) {
      if (isExcluded(schema, document, operation, variables))
        throw badRequest([], "@skip or @include excludes the root field of the subscription");
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
    load: async () => ({
      executor: (request) =>
        serve(request).catch((error: unknown) => ({ errors: [errors.translate(error)] })),
    }),
    stop: async () => undefined,
  };
}
