/** Converts errors to GraphQL errors. Unexpected errors are logged and replaced by a general message. */
import { HeaderMap } from "@apollo/server";
import { unwrapResolverError } from "@apollo/server/errors";
import {
  GraphQLError,
  type ExecutionResult,
  type FormattedExecutionResult,
  type GraphQLFormattedError,
} from "graphql";
import { isCancelled } from "../../../core/postgres/errors.ts";
import type { AppError, ErrorCode, Problem } from "../../../core/errors.ts";
import { ReauthenticationRequiredError } from "../../../core/fresh-authentication.ts";
import { serializeError, type Logger } from "../../../core/logger.ts";
import { documentLimitError } from "./limits.ts";
import { toAppError } from "../../error-handler.ts";
import { currentRequest, type RequestStore } from "../context.ts";

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
    // graphql-jit's errors may come without `extensions`.
    if (
      thrown instanceof GraphQLError &&
      (thrown as Partial<GraphQLError>).extensions?.["code"] !== undefined
    )
      return thrown;
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
    const translated = errors.map((error, index) => {
      const { message, extensions } = this.translate(error);
      const { http: _, ...withoutStatus } = extensions;
      const decidesStatus = index === 0 && !hasData;
      const { path, locations } = error;
      const located = new GraphQLError(message, {
        path,
        extensions: decidesStatus ? extensions : withoutStatus,
      });
      return Object.assign(located, { locations });
    });
    return { ...result, errors: translated };
  }

  /** Returns the extensions that every error has. */
  commonExtensions(code: string, requestId: string): { code: string; requestId: string; docUrl: string } {
    return { code, requestId, docUrl: this.#errorUrl(code) };
  }

  /** Adds the request ID and a link to the guide, and masks internal errors. Apollo calls it for every error, including its own. */
  formatError(
    formatted: GraphQLFormattedError,
    error: unknown,
    request: FailedRequest = currentRequest(),
  ): GraphQLFormattedError {
    const thrown = unwrapResolverError(error);
    const { extensions = {}, ...shown } = documentLimitError(thrown)?.toJSON() ?? formatted;
    const { http: _, ...visible } = extensions;
    const isUnmasked = visible["code"] === INTERNAL && shown.message !== MASKED_MESSAGE;
    if (isUnmasked) this.#log(thrown, MASKED_MESSAGE, request);
    return {
      ...shown,
      message: isUnmasked ? MASKED_MESSAGE : shown.message,
      extensions: { ...visible, ...this.commonExtensions(String(visible["code"]), request.requestId) },
    };
  }

  /** Does for an error that does not pass through Apollo what Apollo does: translates and formats it. */
  format(error: unknown, request: FailedRequest = currentRequest()): GraphQLFormattedError {
    const translated = this.translate(error, request);
    return this.formatError(translated.toJSON(), translated, request);
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
