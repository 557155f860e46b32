/** Codes of statuses and failure reasons. */
import type { FailureReason, Status } from "../generated/api.ts";
import type { RequestOptions, Transport } from "../transport.ts";

export class Reference {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** The status codes. The operator can add codes. */
  async listStatuses(options?: RequestOptions): Promise<Status[]> {
    return (await this.#transport.call("listStatuses", {}, options)).items;
  }

  /** The failure reasons. The operator can add codes. */
  async listFailureReasons(options?: RequestOptions): Promise<FailureReason[]> {
    return (await this.#transport.call("listFailureReasons", {}, options)).items;
  }
}
