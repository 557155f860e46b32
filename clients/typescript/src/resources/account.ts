/** The organization, key and limits of the client, and its request log. */
import type { Me, Operations, RequestLogEntry } from "../generated/api.ts";
import { itemsByCursor, MAX_PAGE_SIZE } from "../lists.ts";
import type { ApiCall, RequestOptions, Transport } from "../transport.ts";

type RequestQuery = Operations["listRequests"]["query"];

export class Account {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  getMe(options?: RequestOptions): ApiCall<Me> {
    return this.#transport.call("getMe", {}, options);
  }

  /** Yields every request of the organization that matches, newest first. `page_size` is the number per request (default: 100). */
  listRequests(
    query: RequestQuery = {},
    options?: RequestOptions,
  ): AsyncGenerator<RequestLogEntry, void, void> {
    return itemsByCursor((cursor = query.cursor) =>
      this.listRequestsPage({ page_size: MAX_PAGE_SIZE, ...query, cursor }, options),
    );
  }

  /** One page of the request log, newest first. */
  listRequestsPage(
    query: RequestQuery = {},
    options?: RequestOptions,
  ): ApiCall<Operations["listRequests"]["data"]> {
    return this.#transport.call("listRequests", { query }, options);
  }

  /** Throws a NotFoundError if the organization made no such request, or if it has left the log. */
  getRequest(requestId: string, options?: RequestOptions): ApiCall<Operations["getRequest"]["data"]> {
    return this.#transport.call("getRequest", { path: { request_id: requestId } }, options);
  }
}
