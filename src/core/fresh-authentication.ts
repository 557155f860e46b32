/** Sensitive actions require that a signed-in user authenticated within ten minutes. API keys and the CLI are exempt. */
import { AppError } from "./errors.ts";
import type { Actor } from "./principal.ts";
import { MINUTE_MS } from "./time.ts";

const MAX_AUTHENTICATION_AGE_MS = 10 * MINUTE_MS;

export interface AuthenticatedActor {
  readonly actor: Actor;
  /** When a signed-in user last entered their password (and code, with two-factor); absent for API keys. */
  readonly authenticatedAt?: Date | undefined;
}

/** A 403 upon which the console asks for the password and repeats the request. */
export class ReauthenticationRequiredError extends AppError {
  constructor() {
    super("ForbiddenException", "Confirm your identity first: enter your password again", {
      details: { reason: "reauthentication_required" },
    });
  }
}

/** Throws ReauthenticationRequiredError for a user whose last authentication is older than ten minutes, or unknown. */
export function requireFreshAuthentication(
  { actor, authenticatedAt }: AuthenticatedActor,
  nowMs: number,
): void {
  if (actor.type !== "user") return;
  if (authenticatedAt && nowMs - authenticatedAt.getTime() < MAX_AUTHENTICATION_AGE_MS) return;
  throw new ReauthenticationRequiredError();
}
