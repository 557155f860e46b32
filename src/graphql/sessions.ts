/** Sessions of the console, as this adapter asks for them; the composition root hands them over. */
import type { SessionHolder } from "../accounts/session.holder.ts";

/** Header values by lower-case name, as Node has them. */
export type RequestHeaders = Readonly<Record<string, string | string[] | undefined>> & {
  readonly cookie?: string | undefined;
};

export interface Sessions {
  /** Whether the request brings a session's cookie, whatever that is worth. */
  isPresented(headers: RequestHeaders): boolean;
  /**
   * Throws ForbiddenException unless the request comes from a page of our own: a browser adds the cookie whoever has it
   * send the request.
   */
  requireOwnPage(headers: RequestHeaders): void;
  /**
   * Who is signed in. Throws UnauthorizedException, and ForbiddenException where the organisation is suspended or the person
   * lacks the second factor that they must have.
   */
  verify(headers: RequestHeaders, address: string): Promise<SessionHolder>;
  /** The same of a session that was verified before, without counting as its use. */
  recheck(sessionId: string): Promise<SessionHolder>;
}
