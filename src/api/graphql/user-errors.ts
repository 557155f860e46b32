/** Converts expected errors of services to `userErrors` in the payload. */
import { AppError, type ErrorCode, type Problem } from "../../core/errors.ts";
import { ReauthenticationRequiredError } from "../../core/fresh-authentication.ts";
import { camelCasePath } from "../../core/names.ts";
import { KeyInUseError } from "../../idempotency/api.ts";
import type { UserError } from "./generated/schema-types.ts";

export interface ExpectedFailure {
  readonly code: ErrorCode;
  readonly message: string;
  readonly problems: readonly Problem[];
  /** The maximum number of objects exists already. */
  readonly isLimitExceeded?: boolean;
}

const userErrorCodes: Partial<Record<ErrorCode, UserError["code"]>> = {
  BadRequestException: "invalid",
  NotFoundException: "not_found",
  ConflictException: "conflict",
  PreconditionFailedException: "conflict",
  ForbiddenException: "forbidden",
};

/** The argument paths that the `field` of user errors refers to. */
export interface ErrorPath {
  /** Prefix of problem fields, such as `items.3.patch`. Empty for root arguments. */
  readonly fields: string;
  /** The argument that selects the object, such as `items.3.markingNumber`: for errors without problems. */
  readonly subject: string | null;
  /** The argument with the expected version: for version conflicts. */
  readonly version?: string;
}

/** Returns null for an unexpected error, which must be thrown instead. */
export function toUserErrors(
  { code, message, problems, isLimitExceeded = false }: ExpectedFailure,
  errorPath: ErrorPath,
): UserError[] | null {
  const userCode = isLimitExceeded ? "limit_exceeded" : userErrorCodes[code];
  if (userCode === undefined) return null;
  if (problems.length === 0) {
    const field =
      code === "PreconditionFailedException" ? (errorPath.version ?? errorPath.subject) : errorPath.subject;
    return [{ code: userCode, field, message }];
  }
  return problems.map((problem) => {
    const path = camelCasePath(problem.field);
    const field = [errorPath.fields, path].filter((part) => part !== "").join(".");
    return {
      code: userCode,
      field: field === "" ? null : field,
      message: `${path} ${problem.message}`.trimStart(),
    };
  });
}

/** The same for a thrown error. */
export function thrownUserErrors(error: unknown, errorPath: ErrorPath): UserError[] | null {
  // These are answered by sending the same request again.
  if (error instanceof ReauthenticationRequiredError || error instanceof KeyInUseError) return null;
  return error instanceof AppError ? toUserErrors(toExpectedFailure(error), errorPath) : null;
}

function toExpectedFailure({ code, message, details }: AppError): ExpectedFailure {
  if (Array.isArray(details)) return { code, message, problems: details as Problem[] };
  const isLimitExceeded = typeof details === "object" && details !== null && "limit" in details;
  return { code, message, problems: [], isLimitExceeded };
}
