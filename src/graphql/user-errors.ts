/** Refusals that are to be expected, as data: what a service throws, turned into `userErrors`. */
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
  /** There are too many already. */
  readonly isLimitExceeded?: boolean;
}

const userErrorCodes: Partial<Record<ErrorCode, UserErrorNode["code"]>> = {
  BadRequestException: "INVALID",
  NotFoundException: "NOT_FOUND",
  ConflictException: "CONFLICT",
  PreconditionFailedException: "CONFLICT",
  ForbiddenException: "FORBIDDEN",
};

/** Where a refusal belongs in the arguments: the path of its problems' fields, or of the whole where it has none. */
export interface ErrorPath {
  /** Such as `items.3.patch`; empty: the fields stand at the root. */
  readonly fields: string;
  /** The argument that selected what was refused, such as `items.3.markingNumber`. */
  readonly subject: string | null;
  /** The argument that names the version to be changed. */
  readonly version?: string;
}

/** Null: it is not to be expected, and must not be told as data. */
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

/** A payload where nothing came of it. */
type NullPayload<Payload> = { readonly [Name in keyof Payload]: null };

/** What `work` gives; where it is refused as is to be expected, `refused` with the errors. */
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
