/** Sessions of the console, as this adapter asks for them; the composition root hands them over. */
import type { SessionPrincipal } from "../accounts/api.ts";

/** Header values by lower-case name, as Node has them. */
export type RequestHeaders = Readonly<Record<string, string | string[] | undefined>> & {
  readonly cookie?: string | undefined;
};

export interface SessionAuthenticator {
  /** Whether the request brings a session's cookie, whatever that is worth. */
  hasSessionCookie(headers: RequestHeaders): boolean;
  /**
   * Throws ForbiddenException unless the request comes from a page of our own: a browser adds the cookie whoever has it
   * send the request.
   */
  requireSameOrigin(headers: RequestHeaders): void;
  /**
   * Who is signed in. Throws UnauthorizedException, and ForbiddenException where the organisation is suspended or the person
   * lacks the second factor that they must have.
   */
  verify(headers: RequestHeaders, address: string): Promise<SessionPrincipal>;
  /** The same of a session that was verified before, without counting as its use. */
  revalidate(sessionId: string): Promise<SessionPrincipal>;
}
