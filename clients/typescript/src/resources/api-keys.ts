/** API keys of the organization. Needs the scope `keys:manage`. */
import type { ApiKey, ApiKeyInput, ApiKeyRotation, Operations } from "../generated/api.ts";
import type { ApiCall, ChangeOptions, RequestOptions, Transport } from "../transport.ts";

export class ApiKeys {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** All keys, oldest first. */
  async list(options?: RequestOptions): Promise<ApiKey[]> {
    return (await this.#transport.call("listApiKeys", {}, options)).items;
  }

  /**
   * The answer has the key itself, which can't be read later. If the first answer was lost and the request was sent again, it is null:
   * revoke the key and create another.
   */
  create(key: ApiKeyInput, options?: ChangeOptions): ApiCall<Operations["createApiKey"]["data"]> {
    return this.#transport.call("createApiKey", { body: key }, options);
  }

  /** Creates a key with the same rights; the old one remains valid for `grace_hours` (default: 24). As in `create`, the key can be null. */
  rotate(
    id: string,
    rotation: ApiKeyRotation = {},
    options?: ChangeOptions,
  ): ApiCall<Operations["rotateApiKey"]["data"]> {
    return this.#transport.call("rotateApiKey", { path: { id }, body: rotation }, options);
  }

  /** The key stops working within a second. */
  revoke(
    id: string,
    query: Operations["revokeApiKey"]["query"] = {},
    options?: RequestOptions,
  ): ApiCall<Operations["revokeApiKey"]["data"]> {
    return this.#transport.call("revokeApiKey", { path: { id }, query }, options);
  }
}
