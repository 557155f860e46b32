/** What a client of a socket is told of errors: the same as over HTTP. */
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
  /** Whatever was thrown before there was a result. */
  formatErrors(live: WebSocketConnection, error: unknown): GraphQLFormattedError[];
  formatResult(live: WebSocketConnection, result: ExecutionResult): FormattedExecutionResult;
}

export function createSubscriptionErrorFormatter(errorFormat: ErrorFormatter): SubscriptionErrorFormatter {
  const format = (error: GraphQLError): GraphQLFormattedError => {
    const { extensions = {}, ...told } = errorFormat.formatError(error.toJSON(), error);
    const { http: _, ...others } = extensions;
    return { ...told, extensions: others };
  };

  const toGraphQLErrors = (error: unknown): readonly GraphQLError[] => {
    // The protocol's library knows errors of GraphQL alone, and wraps what it is handed.
    const thrown = error instanceof GraphQLError ? (error.originalError ?? error) : error;
    return thrown instanceof InvalidOperationError ? thrown.errors : [errorFormat.translate(thrown)];
  };

  /** Without data nothing was executed: the variables are wrong, or, and then it has a path, the resolver refuses. */
  const translateBeforeExecution = (error: GraphQLError): GraphQLError =>
    error.path ? errorFormat.translate(error) : withCode(error, "BAD_USER_INPUT");

  return {
    formatErrors: (live, error) => runWithConnection(live, () => toGraphQLErrors(error).map(format)),
    formatResult: (live, result) =>
      runWithConnection(live, () => {
        if (!result.errors) return result as FormattedExecutionResult;
        const { errors = [], ...rest } =
          result.data === undefined
            ? { errors: result.errors.map(translateBeforeExecution) }
            : errorFormat.translateResult(result);
        return { ...rest, errors: errors.map(format) };
      }),
  };
}

function ignore(): void {
  // A socket's answer is long sent, and logged.
}

/** Error messages carry the id of the request that opened the socket. */
function runWithConnection<Told>(
  { requestId, ipAddress, authentication, signal }: WebSocketConnection,
  format: () => Told,
): Told {
  const results: Told[] = [];
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
  return results[0] as Told;
}
