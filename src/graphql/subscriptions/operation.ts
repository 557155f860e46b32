/** A subscription as a client asked for it: read, checked against every limit, begun, and executed for each event. */
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

/** All problems of a document or of its variables. */
export class InvalidOperationError extends Error {
  readonly errors: readonly GraphQLError[];

  constructor(errors: readonly GraphQLError[], code: string) {
    super("The document is not valid");
    this.errors = errors.map((error) => withCode(error, code));
  }
}

/** What GraphQL says itself, as the caller's mistake. */
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

/** Throws InvalidDocument, a GraphQLError where a limit is passed, or BadRequestException. */
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
  if (!operation)
    throw badRequest([], "Which operation is meant is not clear: name it by operationName, as it is written");
  if (operation.operation !== OperationTypeNode.SUBSCRIPTION)
    throw badRequest([], "Send queries and mutations by POST");
  if (isRootConditional(operation.selectionSet, document))
    throw badRequest(
      [],
      "A subscription's one root field cannot be conditional: leave @skip and @include out there",
    );
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

/** Whether a directive decides about a root field: without any there is nothing to subscribe to. */
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

/** What Apollo does for HTTP: a few fragments that spread each other twice would be more than can be gone through. */
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
    const known = expanded.get(name);
    if (known !== undefined) return known;
    const total = (spreadsOf.get(name) ?? []).reduce(
      (sum, spread) => sum + expand(spread),
      sizes.get(name) ?? 0,
    );
    expanded.set(name, total);
    return total;
  };
  if (expand("") > MAX_RECURSIVE_SELECTIONS)
    throw new GraphQLError("The fragments select too many fields", {
      extensions: { code: "QUERY_TOO_EXPENSIVE" },
    });
}

export interface SubscriptionRun<Context> {
  /** Ends it. */
  readonly signal: AbortSignal;
  /** A context for one event: nothing of an earlier one is remembered in it. */
  makeContext(): Context;
  /** Through which each execution goes. */
  readonly semaphore: Semaphore;
  /** Asked before each event; false ends it. */
  isAuthorized(): Promise<boolean>;
  onStart(): void;
  onEnd(): void;
  /** It failed and is over, or could not begin for now. What is thrown from here is told to the client. */
  onFailure(error: unknown): void;
}

/** The results of a subscription, and the cursor of `events` from which on they come. */
export type SubscriptionResults = AsyncGenerator<ExecutionResult, void, void> & {
  readonly cursor: string | null;
};

/** Begins: an operation that cannot begin has its errors as its only result. */
export async function startOperation<Context>(
  operation: PreparedOperation,
  run: SubscriptionRun<Context>,
): Promise<SubscriptionResults | ExecutionResult> {
  const source = await createSourceEventStream({ ...operation, contextValue: run.makeContext() });
  if (!(Symbol.asyncIterator in source)) {
    // Also where the feed took too long: other than an event's execution, that is not what the client asks for.
    const unavailable = source.errors?.find(({ originalError }) => isUnavailable(originalError));
    if (unavailable) run.onFailure(unavailable.originalError);
    return source;
  }
  return executeEach(operation, source as SourceStream, run);
}

/** An event with holes is no event: whoever is hung up on comes back, and asks for what came after the last whole one. */
function throwIfUnavailable({ errors = [] }: ExecutionResult): void {
  for (const { originalError } of errors) {
    // What took too long would take as long the next time.
    if (isUnavailable(originalError) && !isCancelled(originalError.cause)) throw originalError;
  }
}

type SourceStream = AsyncGenerator<unknown, void, void> & { readonly cursor?: string | null };
type ResultStep = IteratorResult<ExecutionResult, void>;

/** Written by hand so that `return` reaches the source at once, also while the next event is waited for. */
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
