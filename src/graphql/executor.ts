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
import { invariant } from "../platform/errors.ts";
import { during, type Tracing } from "../platform/tracing.ts";
import { createCompiler, type Code } from "./compile.ts";
import type { ErrorFormat } from "./error-format.ts";
import { operationSpan } from "./operation-span.ts";
import { variableErrors } from "./variable-problems.ts";
import { currentVisit } from "./visit.ts";

/** Compiled operations in memory; past that the one that was asked for longest ago is forgotten. */
const MAX_COMPILED = 200;

export interface Operation {
  readonly document: DocumentNode;
  readonly operation: OperationDefinitionNode;
  readonly context: unknown;
  /** As they came. */
  readonly variables: Record<string, unknown>;
  /** With defaults, and checked. */
  readonly coerced: Readonly<Record<string, unknown>>;
}

/** Apollo's door for an executor of one's own. */
type Gateway = NonNullable<ApolloServerOptionsWithGateway<BaseContext>["gateway"]>;

/** Executes operations that passed the guard. */
export function createExecutor(schema: GraphQLSchema): (operation: Operation) => Promise<ExecutionResult> {
  const compiled = new CompiledOperations(schema);
  return async ({ document, operation, context, variables, coerced }) => {
    const code = compiled.find(document, operation);
    const result = code?.(context, coerced);
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
  errors: ErrorFormat,
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
          const { measured } = currentVisit();
          if (!operation) return notFound(operationName);
          if (!measured) return wrongVariables(schema, operation, variables);
          const span = tracing?.beginBelow(...operationSpan(operation.operation, operation.name?.value));
          return errors.translateResult(
            await during(span, () =>
              run({ document, operation, context, variables, coerced: measured.variables }),
            ),
          );
        },
      }),
    stop: () => Promise.resolve(),
  };
}

// What has not passed the guard is never executed: these two answer as execution would.

function notFound(name: string | null | undefined): ExecutionResult {
  const message =
    typeof name === "string"
      ? `Unknown operation named "${name}"`
      : "Say by operationName which operation is meant";
  return { errors: [new GraphQLError(message)] };
}

function wrongVariables(
  schema: GraphQLSchema,
  operation: OperationDefinitionNode,
  variables: Record<string, unknown>,
): ExecutionResult {
  const errors = variableErrors(schema, operation, variables);
  invariant(errors.length > 0, "an operation with valid variables has a cost");
  return { errors };
}

class CompiledOperations {
  readonly #compile: (document: DocumentNode, operation: OperationDefinitionNode) => Code | null;
  readonly #seen = new WeakSet<OperationDefinitionNode>();
  /** In the order in which they were asked for; null: better left to graphql-js. */
  readonly #code = new Map<OperationDefinitionNode, Code | null>();

  constructor(schema: GraphQLSchema) {
    this.#compile = createCompiler(schema);
  }

  /** Apollo keeps a document that it knows as one and the same object, and so its operations. */
  find(document: DocumentNode, operation: OperationDefinitionNode): Code | null {
    const known = this.#code.get(operation);
    if (known === undefined && !this.#seen.has(operation)) {
      this.#seen.add(operation);
      return null;
    }
    const code = known === undefined ? this.#compile(document, operation) : known;
    this.#code.delete(operation);
    this.#code.set(operation, code);
    const [oldest] = this.#code.keys();
    if (oldest && this.#code.size > MAX_COMPILED) this.#code.delete(oldest);
    return code;
  }
}
