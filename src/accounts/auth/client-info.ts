/** The HTTP client's details that account services need. */

export interface ClientInfo {
  /** The Cookie header. */
  readonly cookie: string | undefined;
  readonly address: string;
  readonly userAgent: string | undefined;
  readonly requestId: string;
}
