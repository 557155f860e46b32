/** The interface to console sessions, which the composition root passes in. */
import type { SessionPrincipal } from "../accounts/api.ts";

/** Header values by lower-case name, as in Node's `IncomingMessage`. */
export type RequestHeaders = Readonly<Record<string, string | string[] | undefined>> & {
  readonly cookie?: string | undefined;
};

export interface SessionAuthenticator {
  /** True if the request has a session cookie, valid or not. */
  hasSessionCookie(headers: RequestHeaders): boolean;
  /** Prevents CSRF: throws ForbiddenException unless the request comes from a page of this server. */
  requireSameOrigin(headers: RequestHeaders): void;
  /**
   * Returns the signed-in user. Throws UnauthorizedException without a valid session, and ForbiddenException if the
   * organisation is suspended or the user still has to set up two-factor authentication.
   */
  verify(headers: RequestHeaders, address: string): Promise<SessionPrincipal>;
  /** Verifies a known session again, without recording a use. Throws like `verify`. */
  revalidate(sessionId: string): Promise<SessionPrincipal>;
}
