/** Failures as GraphQL tells them: here alone are they translated. What is not meant for the caller is masked, and logged. */
import { HeaderMap } from "@apollo/server";
import { unwrapResolverError } from "@apollo/server/errors";
import { GraphQLError, type ExecutionResult, type GraphQLFormattedError } from "graphql";
import { asUnavailable, isCancelled } from "../platform/database-errors.ts";
import { AppError, type ErrorCode, type Problem } from "../platform/errors.ts";
import { ReauthenticationRequiredError } from "../platform/fresh-authentication.ts";
import { withoutValues, type Logger } from "../platform/logger.ts";
import { currentVisit, type Visit } from "./visit.ts";

const INTERNAL = "INTERNAL_SERVER_ERROR";
const USER_INPUT = "BAD_USER_INPUT";
const MASK = "An unexpected error happened on our side";
const TOO_SLOW =
  "This took too long and was ended. Ask for less: a smaller page, a narrower filter, fewer fields";

const codes: Partial<Record<ErrorCode, string>> = {
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
type Asking = Pick<Visit, "requestId"> & Partial<Pick<Visit, "signal">>;

export interface ErrorFormat {
  /** Any failure as a GraphQL error that carries its HTTP status and headers. `during`: the visit that goes on. */
  translate(error: unknown, during?: Asking): GraphQLError;
  /** The same for each error of an operation that was executed. Only one that answers nothing carries a status. */
  translateResult(result: ExecutionResult): ExecutionResult;
  /** Apollo's last step with each error, those of its own included. */
  formatError(formatted: GraphQLFormattedError, error: unknown): GraphQLFormattedError;
}

export function createErrorFormat(logger: Logger): ErrorFormat {
  const log = (error: unknown, message: string, { requestId, signal }: Asking): void => {
    // A query that was ended since its client had gone away is no failure.
    if (!signal?.aborted) logger.error({ request_id: requestId, err: withoutValues(error) }, message);
  };

  const translate = (error: unknown, during: Asking = currentVisit()): GraphQLError => {
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
        errors: errors.map((error, at) => placed(translate(error), error, at === 0 && !isAnswered)),
      };
    },
    formatError(formatted, error) {
      const visit = currentVisit();
      const isUntold = formatted.extensions?.["code"] === INTERNAL && formatted.message !== MASK;
      if (isUntold) log(unwrapResolverError(error), MASK, visit);
      return {
        ...formatted,
        message: isUntold ? MASK : formatted.message,
        extensions: { ...formatted.extensions, requestId: visit.requestId },
      };
    },
  };
}

function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  return asUnavailable(error) ?? new AppError("InternalServerErrorException", MASK, { cause: error });
}

function toGraphQLError(failure: AppError): GraphQLError {
  if (isCancelled(failure.cause))
    return new GraphQLError(TOO_SLOW, { extensions: { code: "TIMEOUT", http: { status: failure.status } } });
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
  return codes[failure.code] ?? USER_INPUT;
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
function placed(
  error: GraphQLError,
  { path, locations }: GraphQLError,
  decidesStatus: boolean,
): GraphQLError {
  const { http: _, ...extensions } = error.extensions;
  const found = new GraphQLError(error.message, {
    path,
    extensions: decidesStatus ? error.extensions : extensions,
  });
  return Object.assign(found, { locations });
}
