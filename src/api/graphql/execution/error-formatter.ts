/** Converts errors to GraphQL errors. Unexpected errors are logged and replaced by a general message. */
import { HeaderMap } from "@apollo/server";
import { unwrapResolverError } from "@apollo/server/errors";
import {
  GraphQLError,
  type ExecutionResult,
  type FormattedExecutionResult,
  type GraphQLFormattedError,
} from "graphql";
import { toUnavailable, isCancelled } from "../../../core/postgres/errors.ts";
import { AppError, type ErrorCode, type Problem } from "../../../core/errors.ts";
import { ReauthenticationRequiredError } from "../../../core/fresh-authentication.ts";
import { serializeError, type Logger } from "../../../core/logger.ts";
import { documentLimitError } from "./limits.ts";
import { currentRequest, type RequestStore } from "../request-store.ts";

const INTERNAL = "INTERNAL_SERVER_ERROR";
const USER_INPUT = "BAD_USER_INPUT";
const MASKED_MESSAGE = "An unexpected error happened on our side";
const TIMEOUT_MESSAGE =
  "The operation took too long and was cancelled. Request less: a smaller page, a narrower filter or fewer fields";

const extensionCodes: Partial<Record<ErrorCode, string>> = {
  UnauthorizedException: "UNAUTHENTICATED",
  ForbiddenException: "FORBIDDEN",
  MethodNotAllowedException: "BAD_REQUEST",
  PayloadTooLargeException: "BAD_REQUEST",
  UnsupportedMediaTypeException: "BAD_REQUEST",
  TooManyRequestsException: "RATE_LIMITED",
  ServiceUnavailableException: "SERVICE_UNAVAILABLE",
  GoneException: "CURSOR_EXPIRED",
  ConflictException: "CONFLICT",
  UnprocessableEntityException: "IDEMPOTENCY_KEY_REUSED",
  InternalServerErrorException: INTERNAL,
};

/** Errors whose `details` the guide describes. */
const detailed = new Set<ErrorCode>(["GoneException", "UnprocessableEntityException"]);

/** Identifies the request in the log. Errors are not logged once `signal` is aborted. */
type FailedRequest = Pick<RequestStore, "requestId"> & Partial<Pick<RequestStore, "signal">>;

export interface ErrorFormatterDeps {
  logger: Logger;
  /** Returns the URL of the section of the guide about an error code. */
  errorUrl: (code: string) => string;
}

export class ErrorFormatter {
  readonly #logger: Logger;
  readonly #errorUrl: (code: string) => string;

  constructor({ logger, errorUrl }: ErrorFormatterDeps) {
    this.#logger = logger;
    this.#errorUrl = errorUrl;
  }

  /** Converts any error to a GraphQL error with HTTP status and headers. */
  translate(error: unknown, request: FailedRequest = currentRequest()): GraphQLError {
    const thrown = unwrapResolverError(error);
    if (thrown instanceof GraphQLError && hasCode(thrown)) return thrown;
    const failure = toAppError(thrown);
    if (failure.status >= 500 && failure.cause !== undefined)
      this.#log(failure.cause, failure.message, request);
    return toGraphQLError(failure);
  }

  /** Translates each error of an executed operation. The first sets the HTTP status if no field has a value. */
  translateResult(result: ExecutionResult): ExecutionResult {
    const { data, errors } = result;
    // Without data nothing was executed: the operation or its variables are invalid, and Apollo's message says so.
    if (!errors || data === undefined) return result;
    const hasData = data !== null && Object.values(data).some((value) => value !== null);
    return {
      ...result,
      errors: errors.map((error, index) =>
        withLocation(this.translate(error), error, index === 0 && !hasData),
      ),
    };
  }

  /** Returns the extensions that every error has. */
  commonExtensions(code: string, requestId: string): { code: string; requestId: string; docUrl: string } {
    return { code, requestId, docUrl: this.#errorUrl(code) };
  }

  /** Adds the request ID and a link to the guide, and masks internal errors. Apollo calls it for every error, including its own. */
  formatError(formatted: GraphQLFormattedError, error: unknown): GraphQLFormattedError {
    const request = currentRequest();
    const tooLarge = documentLimitError(unwrapResolverError(error));
    if (tooLarge) {
      const { message, extensions } = tooLarge;
      const { http: _, ...visible } = extensions;
      const common = this.commonExtensions(String(extensions["code"]), request.requestId);
      return { message, extensions: { ...visible, ...common } };
    }
    const isUnmasked = formatted.extensions?.["code"] === INTERNAL && formatted.message !== MASKED_MESSAGE;
    if (isUnmasked) this.#log(unwrapResolverError(error), MASKED_MESSAGE, request);
    return {
      ...formatted,
      message: isUnmasked ? MASKED_MESSAGE : formatted.message,
      extensions: {
        ...formatted.extensions,
        ...this.commonExtensions(String(formatted.extensions?.["code"]), request.requestId),
      },
    };
  }

  /** Does for an error that does not pass through Apollo what Apollo does: translates and formats it. */
  format(error: unknown): GraphQLFormattedError {
    const translated = this.translate(error);
    const { extensions = {}, ...formatted } = this.formatError(translated.toJSON(), translated);
    const { http: _, ...visibleExtensions } = extensions;
    return { ...formatted, extensions: visibleExtensions };
  }

  /** The same for the result of a subscription. */
  formatResult(result: ExecutionResult): FormattedExecutionResult {
    const { errors, ...rest } = this.translateResult(result);
    return errors ? { ...rest, errors: errors.map((error) => this.format(error)) } : rest;
  }

  #log(error: unknown, message: string, { requestId, signal }: FailedRequest): void {
    // A query cancelled because its client disconnected is not a failure.
    if (!signal?.aborted) this.#logger.error({ request_id: requestId, err: serializeError(error) }, message);
  }
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
  // An argument may name something that does not exist, but the requested URL exists, so 404 would be wrong.
  const status = code === USER_INPUT ? 400 : failure.status;
  const problems = problemsOf(failure.details);
  const headers = new HeaderMap(
    Object.entries(failure.headers).map(([name, value]) => [name.toLowerCase(), value] as const),
  );
  return new GraphQLError(failure.message, {
    extensions: {
      code,
      ...(problems && { problems }),
      ...(detailed.has(failure.code) && { details: failure.details }),
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

/** Returns `error` with the path and locations of the original error, and its HTTP status only if it decides the status. */
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
