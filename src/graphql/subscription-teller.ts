/** What a client of a socket is told of errors: the same as over HTTP. */
import {
  GraphQLError,
  type ExecutionResult,
  type FormattedExecutionResult,
  type GraphQLFormattedError,
} from "graphql";
import type { ErrorFormat } from "./error-format.ts";
import { InvalidDocument, withCode } from "./subscription-operation.ts";
import type { LiveSocket } from "./subscription-socket.ts";
import { duringVisit } from "./visit.ts";

export interface Teller {
  /** Whatever was thrown before there was a result. */
  errorsOf(live: LiveSocket, error: unknown): GraphQLFormattedError[];
  result(live: LiveSocket, result: ExecutionResult): FormattedExecutionResult;
}

export function createTeller(errorFormat: ErrorFormat): Teller {
  const format = (error: GraphQLError): GraphQLFormattedError => {
    const { extensions = {}, ...told } = errorFormat.formatError(error.toJSON(), error);
    const { http: _, ...others } = extensions;
    return { ...told, extensions: others };
  };

  const toGraphQLErrors = (error: unknown): readonly GraphQLError[] => {
    // The protocol's library knows errors of GraphQL alone, and wraps what it is handed.
    const thrown = error instanceof GraphQLError ? (error.originalError ?? error) : error;
    return thrown instanceof InvalidDocument ? thrown.errors : [errorFormat.translate(thrown)];
  };

  /** Without data nothing was executed: the variables are wrong, or, and then it has a path, the resolver refuses. */
  const translateUnbegun = (error: GraphQLError): GraphQLError =>
    error.path ? errorFormat.translate(error) : withCode(error, "BAD_USER_INPUT");

  return {
    errorsOf: (live, error) => visiting(live, () => toGraphQLErrors(error).map(format)),
    result: (live, result) =>
      visiting(live, () => {
        if (!result.errors) return result as FormattedExecutionResult;
        const { errors = [], ...rest } =
          result.data === undefined
            ? { errors: result.errors.map(translateUnbegun) }
            : errorFormat.translateResult(result);
        return { ...rest, errors: errors.map(format) };
      }),
  };
}

function tooLate(): void {
  // A socket's answer is long sent, and logged.
}

/** Error messages carry the id of the request that opened the socket. */
function visiting<Told>({ requestId, address, caller, signal }: LiveSocket, tell: () => Told): Told {
  const told: Told[] = [];
  const holder = caller?.holder ?? null;
  const visit = {
    requestId,
    address,
    holder,
    signal,
    setHeader: tooLate,
    duringExternalCall: <Answer>(call: () => Promise<Answer>) => call(),
    noteFailure: tooLate,
    measured: null,
  };
  duringVisit(visit, () => told.push(tell()));
  return told[0] as Told;
}
