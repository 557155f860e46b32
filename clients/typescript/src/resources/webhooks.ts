/** Webhook endpoints and their deliveries. Needs the scope `webhooks:manage`. */
import type {
  Operations,
  ReplayWebhooks,
  ResumeWebhookEndpoint,
  WebhookDelivery,
  WebhookEndpoint,
  WebhookEndpointAttempt,
  WebhookEndpointInput,
  WebhookEndpointPatch,
} from "../generated/api.ts";
import { itemsByCursor, MAX_PAGE_SIZE } from "../lists.ts";
import type { ApiCall, ChangeOptions, RequestOptions, Transport } from "../transport.ts";

type Result<Name extends keyof Operations> = ApiCall<Operations[Name]["data"]>;
type DeliveryQuery = Operations["listWebhookDeliveries"]["query"];

export class Webhooks {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** All endpoints, oldest first. */
  async listEndpoints(options?: RequestOptions): Promise<WebhookEndpoint[]> {
    return (await this.#transport.call("listWebhookEndpoints", {}, options)).items;
  }

  /**
   * The answer has the signing secret, which can't be read later. If the first answer was lost and the request was sent again, `secret` is
   * null: call `rotateSecret`.
   */
  createEndpoint(endpoint: WebhookEndpointInput, options?: ChangeOptions): Result<"createWebhookEndpoint"> {
    return this.#transport.call("createWebhookEndpoint", { body: endpoint }, options);
  }

  getEndpoint(id: string, options?: RequestOptions): Result<"getWebhookEndpoint"> {
    return this.#transport.call("getWebhookEndpoint", { path: { id } }, options);
  }

  /** Changes the settings in `patch`: absent settings stay as they are, null clears a setting. */
  updateEndpoint(
    id: string,
    patch: WebhookEndpointPatch,
    options?: RequestOptions,
  ): Result<"updateWebhookEndpoint"> {
    return this.#transport.call("updateWebhookEndpoint", { path: { id }, body: patch }, options);
  }

  /** Discards pending deliveries. */
  deleteEndpoint(id: string, options?: RequestOptions): Result<"deleteWebhookEndpoint"> {
    return this.#transport.call("deleteWebhookEndpoint", { path: { id } }, options);
  }

  /** Creates a new secret; the former one signs for another 24 hours. As in `createEndpoint`, `secret` can be null: call it again. */
  rotateSecret(id: string, options?: ChangeOptions): Result<"rotateWebhookSecret"> {
    return this.#transport.call("rotateWebhookSecret", { path: { id } }, options);
  }

  /** Keeps deliveries on hold until `resumeEndpoint`. */
  pauseEndpoint(id: string, options?: RequestOptions): Result<"pauseWebhookEndpoint"> {
    return this.#transport.call("pauseWebhookEndpoint", { path: { id } }, options);
  }

  /** Sends or discards the deliveries on hold. */
  resumeEndpoint(
    id: string,
    choice: ResumeWebhookEndpoint = {},
    options?: RequestOptions,
  ): Result<"resumeWebhookEndpoint"> {
    return this.#transport.call("resumeWebhookEndpoint", { path: { id }, body: choice }, options);
  }

  /** Retries what waits for a retry, within the limits of the endpoint. A paused or disabled endpoint is a conflict: resume it. */
  retryEndpoint(id: string, options?: RequestOptions): Result<"retryWebhookEndpoint"> {
    return this.#transport.call("retryWebhookEndpoint", { path: { id } }, options);
  }

  /** Sends a test event now, and returns the delivery with the receiver's answer. */
  sendTestEvent(id: string, options?: RequestOptions): Result<"sendTestEvent"> {
    return this.#transport.call("sendTestEvent", { path: { id } }, options);
  }

  /** The newest 20 requests to an endpoint, newest first. `getDelivery` has their headers and bodies. */
  async listEndpointAttempts(id: string, options?: RequestOptions): Promise<WebhookEndpointAttempt[]> {
    return (await this.#transport.call("listWebhookEndpointAttempts", { path: { id } }, options)).items;
  }

  /** Sends events of a time range again. `listDeliveries` with the `cursor` of the answer has the new deliveries. */
  replayDeliveries(
    id: string,
    range: ReplayWebhooks,
    options?: ChangeOptions,
  ): Result<"replayWebhookDeliveries"> {
    return this.#transport.call("replayWebhookDeliveries", { path: { id }, body: range }, options);
  }

  /** Yields every delivery that matches, newest first, from `cursor` on. `page_size` is the number per request (default: 100). */
  listDeliveries(
    query: DeliveryQuery = {},
    options?: RequestOptions,
  ): AsyncGenerator<WebhookDelivery, void, void> {
    return itemsByCursor((cursor = query.cursor) =>
      this.listDeliveriesPage({ page_size: MAX_PAGE_SIZE, ...query, cursor }, options),
    );
  }

  /** One page of the deliveries, newest first. */
  listDeliveriesPage(query: DeliveryQuery = {}, options?: RequestOptions): Result<"listWebhookDeliveries"> {
    return this.#transport.call("listWebhookDeliveries", { query }, options);
  }

  /** A delivery with its attempts. */
  getDelivery(id: string, options?: RequestOptions): Result<"getWebhookDelivery"> {
    return this.#transport.call("getWebhookDelivery", { path: { id } }, options);
  }

  /** Sends the events of up to 100 deliveries again. The results have an error for each that can't be replayed. */
  replaySelectedDeliveries(
    ids: readonly string[],
    options?: ChangeOptions,
  ): Result<"replaySelectedWebhookDeliveries"> {
    return this.#transport.call("replaySelectedWebhookDeliveries", { body: { ids: [...ids] } }, options);
  }

  /** Sends the event again, as a new delivery. */
  replayDelivery(id: string, options?: ChangeOptions): Result<"replayWebhookDelivery"> {
    return this.#transport.call("replayWebhookDelivery", { path: { id } }, options);
  }
}
