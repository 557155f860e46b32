/**
 * Calls the server's `/auth` and `/console-api` routes. Their answers are in the envelope, except those of better-auth's routes:
 * the data itself, or `{code, message}`.
 */
import { serverUrl } from "./server-url.ts";
import { reauthentication } from "../session/reauthentication.ts";

/** One invalid field of a request. */
export interface ErrorDetail {
  field: string;
  code: string;
  message: string;
}

interface Envelope {
  request_id: string;
  success: boolean;
  data: unknown;
  error: Failure | null;
}

interface Failure {
  code: string;
  message: string;
  details: unknown;
}

/** The server rejected the request. `message` can be shown to users. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  readonly code: string;
  readonly details: readonly ErrorDetail[];
  readonly requestId: string | null;
  /** True if the user must confirm their identity before the server does this. */
  readonly needsReauthentication: boolean;
  /** From the Retry-After header; null if it is missing. */
  readonly retryAfterSeconds: number | null;
  readonly #response: Response;

  constructor(response: Response, envelope: (Pick<Envelope, "error"> & Partial<Envelope>) | null) {
    super(envelope?.error?.message ?? "Unexpected response from the server.");
    this.status = response.status;
    this.code = envelope?.error?.code ?? "UnreadableResponse";
    const details = envelope?.error?.details;
    this.details = Array.isArray(details) ? (details as ErrorDetail[]) : detailsOf(this.code);
    this.needsReauthentication = isObject(details) && details["reason"] === "reauthentication_required";
    this.requestId = envelope?.request_id ?? response.headers.get("X-Request-Id");
    const retryAfter = Number.parseInt(response.headers.get("Retry-After") ?? "", 10);
    this.retryAfterSeconds = Number.isNaN(retryAfter) ? null : retryAfter;
    this.#response = response;
  }

  /** Returns the same error about these fields. */
  withDetails(details: readonly ErrorDetail[]): ApiError {
    const { code, message } = this;
    return new ApiError(this.#response, { error: { code, message, details } });
  }
}

/** better-auth names no field. */
function detailsOf(code: string): ErrorDetail[] {
  return code === "INVALID_PASSWORD" ? [{ field: "password", code, message: "is not your password" }] : [];
}

/** The server could not be reached. */
export class OfflineError extends Error {
  override readonly name = "OfflineError";
  constructor(cause: unknown) {
    super("Waymark cannot be reached. Check your connection and try again.", { cause });
  }
}

type Method = "GET" | "POST" | "PATCH" | "DELETE";

let unauthorizedHandler = (): Promise<boolean> => Promise.resolve(false);

/** Sets the function that is called when a request with a session is rejected with 401: true repeats the request. */
export function setUnauthorizedHandler(handler: () => Promise<boolean>): void {
  unauthorizedHandler = handler;
}

/** `body`: sent as JSON, except a Blob. */
async function sendRequest<Data>(method: Method, path: string, body?: unknown): Promise<Data> {
  const file = body instanceof Blob ? body : null;
  const content = file ?? (body === undefined ? null : JSON.stringify(body));
  const contentType = file ? file.type : "application/json";
  const response = await fetch(serverUrl(path), {
    method,
    credentials: "same-origin",
    headers: { Accept: "application/json", ...(content !== null && { "Content-Type": contentType }) },
    body: content,
  }).catch((error: unknown) => {
    throw new OfflineError(error);
  });
  const answer: unknown = await response.json().catch(() => null);
  if (isObject(answer) && !("request_id" in answer)) {
    if (response.ok) return answer as Data;
    throw new ApiError(response, { error: { details: null, ...answer } as Failure });
  }
  const envelope = answer as Envelope | null;
  if (response.ok && envelope?.success) return envelope.data as Data;
  throw new ApiError(response, envelope);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

/** Repeats the request once the user has signed in again or confirmed their identity. */
async function authenticatedRequest<Data>(method: Method, path: string, body?: unknown): Promise<Data> {
  try {
    return await sendRequest<Data>(method, path, body);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const isConfirmed =
      error.status === 401
        ? await unauthorizedHandler()
        : error.needsReauthentication && (await reauthentication.request("stale"));
    if (isConfirmed) return await sendRequest(method, path, body);
    throw error;
  }
}

export const api = {
  get: <Data>(path: string) => authenticatedRequest<Data>("GET", path),
  post: <Data>(path: string, body: unknown = {}) => authenticatedRequest<Data>("POST", path, body),
  patch: <Data>(path: string, body: unknown) => authenticatedRequest<Data>("PATCH", path, body),
  delete: <Data>(path: string) => authenticatedRequest<Data>("DELETE", path),
  /** For requests without a session, and where 401 means a wrong password. */
  anonymous: {
    get: <Data>(path: string) => sendRequest<Data>("GET", path),
    post: <Data>(path: string, body: unknown = {}) => sendRequest<Data>("POST", path, body),
  },
};

/** Error messages by field, for `form.setErrors`. Empty if the error is not about a field. */
export function fieldErrors(error: unknown): Record<string, string> {
  if (!(error instanceof ApiError)) return {};
  return Object.fromEntries(error.details.map(({ field, message }) => [field, toSentence(message)]));
}

/** "must not be empty" becomes "Must not be empty.", and "is wrong" becomes "This is wrong." */
function toSentence(message: string): string {
  const sentence = message.startsWith("is ") ? `This ${message}` : message;
  return `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}${sentence.endsWith(".") ? "" : "."}`;
}
