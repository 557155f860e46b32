/** Failures as GraphQL tells them: here alone are they translated. What is not meant for the caller is masked, and logged. */
import { HeaderMap } from "@apollo/server";
import { unwrapResolverError } from "@apollo/server/errors";
import { GraphQLError, type ExecutionResult, type GraphQLFormattedError } from "graphql";
import { toUnavailable, isCancelled } from "../../platform/postgres/errors.ts";
import { AppError, type ErrorCode, type Problem } from "../../platform/errors.ts";
import { ReauthenticationRequiredError } from "../../platform/fresh-authentication.ts";
import { serializeError, type Logger } from "../../platform/logger.ts";
import { currentRequest, type RequestStore } from "../request-store.ts";

const INTERNAL = "INTERNAL_SERVER_ERROR";
const USER_INPUT = "BAD_USER_INPUT";
const MASKED_MESSAGE = "An unexpected error happened on our side";
const TIMEOUT_MESSAGE =
  "This took too long and was ended. Ask for less: a smaller page, a narrower filter, fewer fields";

const extensionCodes: Partial<Record<ErrorCode, string>> = {
  UnauthorizedException: "UNAUTHENTICATED",
  ForbiddenException: "FORBIDDEN",
  MethodNotAllowedException: "BAD_REQUEST",
  PayloadTooLargeException: "BAD_REQUEST",
  UnsupportedMediaTypeException: "BAD_REQUEST",
  TooManyRequestsException: "RATE_LIMITED",
  ServiceUnavailableException: "SERVICE_UNAVAILABLE",
  GoneException: "CURSOR_EXPIRED",
  InternalServerErrorException: INTERNAL,
};

/** Whose failure it is; nobody may be waiting for the answer any more. */
type FailedRequest = Pick<RequestStore, "requestId"> & Partial<Pick<RequestStore, "signal">>;

export interface ErrorFormatter {
  /** Any failure as a GraphQL error that carries its HTTP status and headers. `during`: the visit that goes on. */
  translate(error: unknown, during?: FailedRequest): GraphQLError;
  /** The same for each error of an operation that was executed. Only one that answers nothing carries a status. */
  translateResult(result: ExecutionResult): ExecutionResult;
  /** Apollo's last step with each error, those of its own included. */
  formatError(formatted: GraphQLFormattedError, error: unknown): GraphQLFormattedError;
}

export function createErrorFormatter(logger: Logger): ErrorFormatter {
  const log = (error: unknown, message: string, { requestId, signal }: FailedRequest): void => {
    // A query that was ended since its client had gone away is no failure.
    if (!signal?.aborted) logger.error({ request_id: requestId, err: serializeError(error) }, message);
  };

  const translate = (error: unknown, during: FailedRequest = currentRequest()): GraphQLError => {
    const thrown = unwrapResolverError(error);
    if (thrown instanceof GraphQLError && hasCode(thrown)) return thrown;
    const failure = toAppError(thrown);
    if (failure.status >= 500) log(failure.cause ?? failure, failure.message, during);
    return toGraphQLError(failure);
  };

  return {
    translate,
    translateResult(result) {
      const { data, errors } = result;
      // Without data nothing was executed: the operation or its variables are wrong, and Apollo's own words say so.
      if (!errors || data === undefined) return result;
      const isAnswered = data !== null && Object.values(data).some((value) => value !== null);
      return {
        ...result,
        errors: errors.map((error, at) => withLocation(translate(error), error, at === 0 && !isAnswered)),
      };
    },
    formatError(formatted, error) {
      const visit = currentRequest();
      const isUntold = formatted.extensions?.["code"] === INTERNAL && formatted.message !== MASKED_MESSAGE;
      if (isUntold) log(unwrapResolverError(error), MASKED_MESSAGE, visit);
      return {
        ...formatted,
        message: isUntold ? MASKED_MESSAGE : formatted.message,
        extensions: { ...formatted.extensions, requestId: visit.requestId },
      };
    },
  };
}

function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  return (
    toUnavailable(error) ?? new AppError("InternalServerErrorException", MASKED_MESSAGE, { cause: error })
  );
}

function toGraphQLError(failure: AppError): GraphQLError {
  if (isCancelled(failure.cause))
    return new GraphQLError(TIMEOUT_MESSAGE, {
      extensions: { code: "TIMEOUT", http: { status: failure.status } },
    });
  const code = codeOf(failure);
  // Whatever an argument names that is not there, the address that was asked is.
  const status = code === USER_INPUT ? 400 : failure.status;
  const problems = problemsOf(failure.details);
  const headers = new HeaderMap(
    Object.entries(failure.headers).map(([name, value]) => [name.toLowerCase(), value] as const),
  );
  return new GraphQLError(failure.message, {
    extensions: {
      code,
      ...(problems && { problems }),
      ...(failure.code === "GoneException" && { details: failure.details }),
      http: { status, headers },
    },
  });
}

function codeOf(failure: AppError): string {
  if (failure instanceof ReauthenticationRequiredError) return "REAUTHENTICATION_REQUIRED";
  return extensionCodes[failure.code] ?? USER_INPUT;
}

function problemsOf(details: unknown): Omit<Problem, "location">[] | null {
  if (!Array.isArray(details)) return null;
  return (details as Problem[]).map(({ field, message, code }) => ({ field, message, code }));
}

/** graphql-jit's errors may come without `extensions`. */
function hasCode({ extensions }: { extensions?: { code?: unknown } }): boolean {
  return extensions?.code !== undefined;
}

/** `error` where `original` happened. */
function withLocation(
  error: GraphQLError,
  { path, locations }: GraphQLError,
  decidesStatus: boolean,
): GraphQLError {
  const { http: _, ...extensions } = error.extensions;
  const located = new GraphQLError(error.message, {
    path,
    extensions: decidesStatus ? error.extensions : extensions,
  });
  return Object.assign(located, { locations });
}
