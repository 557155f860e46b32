/** Parses, validates and starts a subscription operation, and executes it for each event. */
import {
  createSourceEventStream,
  execute,
  getOperationAST,
  GraphQLError,
  Kind,
  OperationTypeNode,
  parse,
  validate,
  visit,
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  type GraphQLSchema,
  type SelectionSetNode,
} from "graphql";
import type { SubscribePayload } from "graphql-ws";
import { isCancelled } from "../../platform/postgres/errors.ts";
import { badRequest, isUnavailable } from "../../platform/errors.ts";
import type { Semaphore } from "../../platform/concurrency/semaphore.ts";
import { MAX_RECURSIVE_SELECTIONS, MAX_TOKENS } from "../execution/limits.ts";
import { measureOperation } from "../execution/operation-guard.ts";
import { planOf } from "../execution/operation-plan.ts";
import { variableErrors } from "../execution/variable-errors.ts";

export type PreparedOperation = Pick<
  ExecutionArgs,
  "schema" | "document" | "operationName" | "variableValues"
>;

/** Holds all errors of a document or of its variables. */
export class InvalidOperationError extends Error {
  readonly errors: readonly GraphQLError[];

  constructor(errors: readonly GraphQLError[], code: string) {
    super("The document or its variables are invalid");
    this.errors = errors.map((error) => withCode(error, code));
  }
}

/** Returns a copy of a graphql-js error with `extensions.code`. */
export function withCode(
  { message, nodes, source, positions, extensions }: GraphQLError,
  code: string,
): GraphQLError {
  return new GraphQLError(message, {
    nodes: nodes ?? null,
    source: source ?? null,
    positions: positions ?? null,
    extensions: { ...extensions, code },
  });
}

/** Throws InvalidOperationError, GraphQLError if a limit is exceeded, or BadRequestException. */
export function prepareOperation(
  schema: GraphQLSchema,
  { query, operationName, variables }: SubscribePayload,
): PreparedOperation {
  const document = parseDocument(query);
  const validationErrors = validate(schema, document);
  if (validationErrors.length > 0)
    throw new InvalidOperationError(validationErrors, "GRAPHQL_VALIDATION_FAILED");
  assertFragmentSize(document);
  const operation = getOperationAST(document, operationName);
  if (!operation) throw badRequest([], "operationName must name one of the document's operations");
  if (operation.operation !== OperationTypeNode.SUBSCRIPTION)
    throw badRequest([], "Send queries and mutations by POST");
  if (isRootConditional(operation.selectionSet, document))
    throw badRequest([], "The root field of a subscription cannot have @skip or @include");
  const requested = { operation, variables: variables ?? {} };
  if (!measureOperation(schema, planOf(schema, document, operation), requested))
    throw new InvalidOperationError(variableErrors(schema, operation, requested.variables), "BAD_USER_INPUT");
  return { schema, document, operationName, variableValues: variables };
}

function parseDocument(query: string): DocumentNode {
  try {
    return parse(query, { maxLexicalTokens: MAX_TOKENS });
  } catch (error) {
    throw error instanceof GraphQLError ? new InvalidOperationError([error], "GRAPHQL_PARSE_FAILED") : error;
  }
}

/** True if a directive could exclude the root field: then there would be nothing to subscribe to. */
function isRootConditional({ selections }: SelectionSetNode, document: DocumentNode): boolean {
  return selections.some((selection) => {
    if ((selection.directives ?? []).length > 0) return true;
    if (selection.kind === Kind.FIELD) return false;
    if (selection.kind === Kind.INLINE_FRAGMENT) return isRootConditional(selection.selectionSet, document);
    return document.definitions.some(
      (definition) =>
        definition.kind === Kind.FRAGMENT_DEFINITION &&
        definition.name.value === selection.name.value &&
        isRootConditional(definition.selectionSet, document),
    );
  });
}

/** Apollo's check for HTTP: a few fragments that spread each other twice expand to too many fields to plan. */
function assertFragmentSize(document: DocumentNode): void {
  const spreadsOf = new Map<string, string[]>();
  const sizes = new Map<string, number>();
  for (const definition of document.definitions) {
    const name = definition.kind === Kind.FRAGMENT_DEFINITION ? definition.name.value : "";
    const spreads: string[] = spreadsOf.get(name) ?? [];
    let size = sizes.get(name) ?? 0;
    visit(definition, {
      Field: () => void (size += 1),
      FragmentSpread: (spread) => void spreads.push(spread.name.value),
    });
    spreadsOf.set(name, spreads);
    sizes.set(name, size);
  }
  const expanded = new Map<string, number>();
  const expand = (name: string): number => {
    const cached = expanded.get(name);
    if (cached !== undefined) return cached;
    const total = (spreadsOf.get(name) ?? []).reduce(
      (sum, spread) => sum + expand(spread),
      sizes.get(name) ?? 0,
    );
    expanded.set(name, total);
    return total;
  };
  if (expand("") > MAX_RECURSIVE_SELECTIONS)
    throw new GraphQLError(
      `The document selects more than ${MAX_RECURSIVE_SELECTIONS} fields with its fragments expanded`,
      {
        extensions: { code: "QUERY_TOO_EXPENSIVE" },
      },
    );
}

export interface SubscriptionRun<Context> {
  /** Ends the subscription. */
  readonly signal: AbortSignal;
  /** Creates the context of one event, with empty data loaders. */
  makeContext(): Context;
  /** Limits concurrent executions. */
  readonly semaphore: Semaphore;
  /** Called before each event. False ends the subscription. */
  isAuthorized(): Promise<boolean>;
  onStart(): void;
  onEnd(): void;
  /** Called if the subscription failed or could not start. Errors thrown by it are sent to the client. */
  onFailure(error: unknown): void;
}

/** The results of a subscription. They contain all events after `cursor`, a cursor of the `events` query. */
export type SubscriptionResults = AsyncGenerator<ExecutionResult, void, void> & {
  readonly cursor: string | null;
};

/** Starts the subscription. If it cannot start, returns its errors as the only result. */
export async function startOperation<Context>(
  operation: PreparedOperation,
  run: SubscriptionRun<Context>,
): Promise<SubscriptionResults | ExecutionResult> {
  const source = await createSourceEventStream({ ...operation, contextValue: run.makeContext() });
  if (!(Symbol.asyncIterator in source)) {
    // Includes timeouts, unlike throwIfUnavailable: starting does not depend on the client's selection.
    const unavailable = source.errors?.find(({ originalError }) => isUnavailable(originalError));
    if (unavailable) run.onFailure(unavailable.originalError);
    return source;
  }
  return executeEach(operation, source as SourceStream, run);
}

/** Throws if a service was unavailable. The client then reconnects and queries the missed events, instead of getting a partial one. */
function throwIfUnavailable({ errors = [] }: ExecutionResult): void {
  for (const { originalError } of errors) {
    // A timeout is sent to the client as an error: repeating the same selection would time out again.
    if (isUnavailable(originalError) && !isCancelled(originalError.cause)) throw originalError;
  }
}

type SourceStream = AsyncGenerator<unknown, void, void> & { readonly cursor?: string | null };
type ResultStep = IteratorResult<ExecutionResult, void>;

/** Not a generator function, because `return` must reach the source while `next` is pending. */
function executeEach<Context>(
  operation: PreparedOperation,
  source: SourceStream,
  run: SubscriptionRun<Context>,
): SubscriptionResults {
  let isEnded = false;
  const end = async (): Promise<ResultStep> => {
    run.signal.removeEventListener("abort", onAbort);
    if (!isEnded) run.onEnd();
    isEnded = true;
    await source.return();
    return { done: true, value: undefined };
  };
  const onAbort = (): void => void end();
  run.onStart();
  run.signal.addEventListener("abort", onAbort);
  if (run.signal.aborted) onAbort();

  const step = async (): Promise<ResultStep> => {
    const { done, value: rootValue } = await source.next();
    if (done === true || !(await run.isAuthorized())) return await end();
    const value = await run.semaphore(async () =>
      execute({ ...operation, rootValue, contextValue: run.makeContext() }),
    );
    throwIfUnavailable(value);
    return { done: false, value };
  };
  return {
    cursor: source.cursor ?? null,
    async next() {
      try {
        return await step();
      } catch (error) {
        await end();
        run.onFailure(error);
        return { done: true, value: undefined };
      }
    },
    return: end,
    async throw(error: unknown) {
      await end();
      throw error;
    },
    [Symbol.asyncIterator]() {
      return this;
    },
    async [Symbol.asyncDispose]() {
      await end();
    },
  };
}
