/** Converts expected errors of services to `userErrors` in the payload. */
import { AppError, type ErrorCode, type Problem } from "../platform/errors.ts";
import { ReauthenticationRequiredError } from "../platform/fresh-authentication.ts";
import { camelCasePath } from "./field-names.ts";

export interface UserErrorNode {
  readonly code: "INVALID" | "NOT_FOUND" | "CONFLICT" | "FORBIDDEN" | "LIMIT_EXCEEDED";
  readonly field: string | null;
  readonly message: string;
}

export interface ExpectedFailure {
  readonly code: ErrorCode;
  readonly message: string;
  readonly problems: readonly Problem[];
  /** The maximum number of objects exists already. */
  readonly isLimitExceeded?: boolean;
}

const userErrorCodes: Partial<Record<ErrorCode, UserErrorNode["code"]>> = {
  BadRequestException: "INVALID",
  NotFoundException: "NOT_FOUND",
  ConflictException: "CONFLICT",
  PreconditionFailedException: "CONFLICT",
  ForbiddenException: "FORBIDDEN",
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
): UserErrorNode[] | null {
  const userCode = isLimitExceeded ? "LIMIT_EXCEEDED" : userErrorCodes[code];
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

/** The payload of a failed mutation: all its fields are null. */
type NullPayload<Payload> = { readonly [Name in keyof Payload]: null };

/** Returns the payload of `work`, or `nullPayload` with `userErrors` if it throws an expected error. Rethrows other errors. */
export async function withUserErrors<Payload extends object>(
  errorPath: ErrorPath,
  nullPayload: NullPayload<NoInfer<Payload>>,
  work: () => Promise<Payload>,
): Promise<(Payload | NullPayload<Payload>) & { userErrors: UserErrorNode[] }> {
  try {
    return { ...(await work()), userErrors: [] };
  } catch (error) {
    const isExpected = error instanceof AppError && !(error instanceof ReauthenticationRequiredError);
    const userErrors = isExpected ? toUserErrors(toExpectedFailure(error), errorPath) : null;
    if (userErrors === null) throw error;
    return { ...nullPayload, userErrors };
  }
}

function toExpectedFailure({ code, message, details }: AppError): ExpectedFailure {
  if (Array.isArray(details)) return { code, message, problems: details as Problem[] };
  const isLimitExceeded = typeof details === "object" && details !== null && "limit" in details;
  return { code, message, problems: [], isLimitExceeded };
}
