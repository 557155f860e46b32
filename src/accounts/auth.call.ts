/** Calling the library: what it is told of a request, and what its refusals are to a caller. */
import { APIError } from "better-auth/api";
import { AppError, badRequest } from "../platform/errors.ts";
import { ADDRESS_HEADER } from "./auth.ts";
import { ownCookies } from "./auth.cookies.ts";
import type { Visit } from "./auth.visit.ts";

const MAX_USER_AGENT = 300;

/** What the library answers, and the cookies that go with it. */
export interface Called<T> {
  readonly result: T;
  readonly cookies: string[];
}

/** `call` asks for `returnHeaders`. Throws an AppError where the library refuses, of `own` for the codes that it has. */
export async function callAuth<T>(
  call: () => Promise<{ headers: Headers; response: T }>,
  own: Refusals = {},
): Promise<Called<T>> {
  try {
    const { headers, response } = await call();
    return { result: response, cookies: ownCookies(headers) };
  } catch (error) {
    throw toAppError(error, { ...refusals, ...own });
  }
}

/** `cookie`: as it came, or left out where the library must not see it. */
export function headersOf({ address, userAgent }: Visit, cookie?: string): Headers {
  const headers = new Headers({ [ADDRESS_HEADER]: address });
  // Kept for people to know their sessions by: only what can be shown.
  const shown = userAgent?.replaceAll(/[^\x20-\x7e]/g, "").slice(0, MAX_USER_AGENT);
  if (shown) headers.set("user-agent", shown);
  if (cookie !== undefined) headers.set("cookie", cookie);
  return headers;
}

/** One sentence, whether the address is unknown or the password wrong. */
export function wrongCredentials(): AppError {
  return new AppError("UnauthorizedException", "The e-mail address or the password is wrong");
}

export function wrongPassword(field = "password"): AppError {
  return badRequest([{ location: "body", field, code: "invalid_value", message: "is not your password" }]);
}

/** By the library's codes. */
type Refusals = Readonly<Record<string, () => AppError>>;

const refusals: Refusals = {
  INVALID_EMAIL_OR_PASSWORD: wrongCredentials,
  INVALID_EMAIL: wrongCredentials,
  PASSWORD_TOO_LONG: wrongCredentials,
  INVALID_PASSWORD: () => wrongPassword(),
  INVALID_CODE: wrongCode,
  INVALID_BACKUP_CODE: wrongCode,
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

export function wrongCode(): AppError {
  return new AppError("UnauthorizedException", "The code is not right, or was used already");
}

function toAppError(error: unknown, known: Refusals): unknown {
  if (!(error instanceof APIError)) return error;
  const refusal = known[String(error.body?.code)];
  if (refusal) return refusal();
  if (error.statusCode === 401)
    return new AppError("UnauthorizedException", "You are not signed in, or your session has ended");
  // Two requests used the same recovery code at once.
  if (error.statusCode === 409) return wrongCode();
  return error;
}
