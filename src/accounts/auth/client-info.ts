/** What accounts are told of the request that somebody signs in with, or acts in. */

export interface ClientInfo {
  /** The header as it came. */
  readonly cookie: string | undefined;
  readonly address: string;
  readonly userAgent: string | undefined;
  readonly requestId: string;
}
