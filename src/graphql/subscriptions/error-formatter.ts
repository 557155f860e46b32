/** Formats errors for WebSocket clients, like over HTTP. */
import {
  GraphQLError,
  type ExecutionResult,
  type FormattedExecutionResult,
  type GraphQLFormattedError,
} from "graphql";
import type { ErrorFormatter } from "../execution/error-formatter.ts";
import { InvalidOperationError, withCode } from "./operation.ts";
import type { WebSocketConnection } from "./websocket-connection.ts";
import { runWithRequest } from "../request-store.ts";

export interface SubscriptionErrorFormatter {
  /** Formats an error thrown before the first result. */
  formatErrors(connection: WebSocketConnection, error: unknown): GraphQLFormattedError[];
  formatResult(connection: WebSocketConnection, result: ExecutionResult): FormattedExecutionResult;
}

export function createSubscriptionErrorFormatter(errorFormat: ErrorFormatter): SubscriptionErrorFormatter {
  const format = (error: GraphQLError): GraphQLFormattedError => {
    const { extensions = {}, ...formatted } = errorFormat.formatError(error.toJSON(), error);
    const { http: _, ...visibleExtensions } = extensions;
    return { ...formatted, extensions: visibleExtensions };
  };

  const toGraphQLErrors = (error: unknown): readonly GraphQLError[] => {
    // graphql-ws accepts only GraphQLError, so startSubscription wraps other errors.
    const thrown = error instanceof GraphQLError ? (error.originalError ?? error) : error;
    return thrown instanceof InvalidOperationError ? thrown.errors : [errorFormat.translate(thrown)];
  };

  /** Without data nothing was executed. The resolver threw (the error has a path) or the variables are invalid. */
  const translateBeforeExecution = (error: GraphQLError): GraphQLError =>
    error.path ? errorFormat.translate(error) : withCode(error, "BAD_USER_INPUT");

  return {
    formatErrors: (connection, error) =>
      runWithConnection(connection, () => toGraphQLErrors(error).map(format)),
    formatResult: (connection, result) =>
      runWithConnection(connection, () => {
        if (!result.errors) return result as FormattedExecutionResult;
        const { errors = [], ...rest } =
          result.data === undefined
            ? { errors: result.errors.map(translateBeforeExecution) }
            : errorFormat.translateResult(result);
        return { ...rest, errors: errors.map(format) };
      }),
  };
}

// There is no HTTP response to set headers on.
const ignore = (): void => undefined;

/** Runs `format` in the request store of the upgrade request, whose ID goes into the errors. */
function runWithConnection<Result>(
  { requestId, ipAddress, authentication, signal }: WebSocketConnection,
  format: () => Result,
): Result {
  const results: Result[] = [];
  const principal = authentication?.principal ?? null;
  const request = {
    requestId,
    address: ipAddress,
    principal,
    signal,
    setHeader: ignore,
    duringExternalCall: <Answer>(call: () => Promise<Answer>) => call(),
    setFailure: ignore,
    measured: null,
  };
  runWithRequest(request, () => results.push(format()));
  return results[0] as Result;
}
