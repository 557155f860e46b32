/** Calling the library: what it is told of a request, and what its refusals are to a caller. */
import { APIError } from "better-auth/api";
import { AppError, badRequest } from "../../platform/errors.ts";
import { CLIENT_IP_HEADER } from "./better-auth.ts";
import { pickAuthCookies } from "./cookies.ts";
import type { ClientInfo } from "./client-info.ts";

const MAX_USER_AGENT_LENGTH = 300;

/** What the library answers, and the cookies that go with it. */
export interface AuthResult<T> {
  readonly result: T;
  readonly cookies: string[];
}

/** `call` asks for `returnHeaders`. Throws an AppError where the library refuses, of `own` for the codes that it has. */
export async function callBetterAuth<T>(
  call: () => Promise<{ headers: Headers; response: T }>,
  overrides: ErrorsByCode = {},
): Promise<AuthResult<T>> {
  try {
    const { headers, response } = await call();
    return { result: response, cookies: pickAuthCookies(headers) };
  } catch (error) {
    throw toAppError(error, { ...defaultErrors, ...overrides });
  }
}

/** `cookie`: as it came, or left out where the library must not see it. */
export function authHeaders({ address, userAgent }: ClientInfo, cookie?: string): Headers {
  const headers = new Headers({ [CLIENT_IP_HEADER]: address });
  // Kept for people to know their sessions by: only what can be shown.
  const printableUserAgent = userAgent?.replaceAll(/[^\x20-\x7e]/g, "").slice(0, MAX_USER_AGENT_LENGTH);
  if (printableUserAgent) headers.set("user-agent", printableUserAgent);
  if (cookie !== undefined) headers.set("cookie", cookie);
  return headers;
}

/** One sentence, whether the address is unknown or the password wrong. */
export function wrongCredentialsError(): AppError {
  return new AppError("UnauthorizedException", "The e-mail address or the password is wrong");
}

export function wrongPasswordError(field = "password"): AppError {
  return badRequest([{ location: "body", field, code: "invalid_value", message: "is not your password" }]);
}

/** By the library's codes. */
type ErrorsByCode = Readonly<Record<string, () => AppError>>;

const defaultErrors: ErrorsByCode = {
  INVALID_EMAIL_OR_PASSWORD: wrongCredentialsError,
  INVALID_EMAIL: wrongCredentialsError,
  PASSWORD_TOO_LONG: wrongCredentialsError,
  INVALID_PASSWORD: () => wrongPasswordError(),
  INVALID_CODE: wrongCodeError,
  INVALID_BACKUP_CODE: wrongCodeError,
  INVALID_TWO_FACTOR_COOKIE: () =>
    new AppError("UnauthorizedException", "The time for the code is over. Sign in with your password again."),
  TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE: () =>
    new AppError("UnauthorizedException", "Too many wrong codes. Sign in with your password again."),
  ACCOUNT_TEMPORARILY_LOCKED: () =>
    new AppError("TooManyRequestsException", "Too many wrong codes. Try again in 15 minutes.", {
      headers: { "Retry-After": "900" },
    }),
  TOTP_ALREADY_ENABLED: () => new AppError("ConflictException", "The second factor is on already"),
  TOTP_NOT_ENABLED: () => new AppError("ConflictException", "No second factor was begun"),
  TWO_FACTOR_NOT_ENABLED: () => new AppError("ConflictException", "The second factor is off"),
};

export function wrongCodeError(): AppError {
  return new AppError("UnauthorizedException", "The code is not right, or was used already");
}

function toAppError(error: unknown, errorsByCode: ErrorsByCode): unknown {
  if (!(error instanceof APIError)) return error;
  const createError = errorsByCode[String(error.body?.code)];
  if (createError) return createError();
  if (error.statusCode === 401)
    return new AppError("UnauthorizedException", "You are not signed in, or your session has ended");
  // Two requests used the same recovery code at once.
  if (error.statusCode === 409) return wrongCodeError();
  return error;
}
