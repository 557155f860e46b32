/** Reads the discovery documents of identity providers, and keeps them for ten minutes with the keys that sign ID tokens. */
import { createRemoteJWKSet, customFetch, type JWTVerifyGetKey } from "jose";
import { Agent, request } from "undici";
import { z } from "zod";
import { AddressGuard } from "../../core/http-client/address-guard.ts";
import { MINUTE_MS } from "../../core/time.ts";

const CACHE_MS = 10 * MINUTE_MS;
const MAX_CACHED = 1_000;

// Browsers are sent there, so `javascript:` must not pass.
const endpoint = z.url({ protocol: /^https?$/ });
const discoveryDocument = z.object({
  issuer: z.string(),
  authorization_endpoint: endpoint,
  token_endpoint: endpoint,
  userinfo_endpoint: endpoint.optional(),
  jwks_uri: endpoint,
  token_endpoint_auth_methods_supported: z.array(z.string()).default(["client_secret_basic"]),
});

export interface ProviderMetadata extends z.output<typeof discoveryDocument> {
  readonly keys: JWTVerifyGetKey;
}

/** `message` is for the owner who enters the issuer. */
export class DiscoveryError extends Error {}

export class Discovery implements AsyncDisposable {
  readonly guard: AddressGuard;
  readonly #http: ReturnType<typeof createGuardedFetch>;
  readonly #cache = new Map<string, { metadata: ProviderMetadata; expiresMs: number }>();

  /** `allowPrivate`: allow http, loopback and private networks. */
  constructor(allowPrivate: boolean) {
    this.guard = new AddressGuard({ allowPrivate });
    this.#http = createGuardedFetch(this.guard);
  }

  /** Throws a DiscoveryError if the provider can't be reached or its document is wrong. Errors are not cached. */
  async of(issuer: string): Promise<ProviderMetadata> {
    const cached = this.#cache.get(issuer);
    return cached && cached.expiresMs > performance.now() ? cached.metadata : await this.#read(issuer);
  }

  /** Throws for an answer that is not a JSON object with status 200. */
  async fetchJson(url: string, options?: FetchOptions): Promise<Record<string, unknown>> {
    const response = await this.#http.fetch(url, options);
    if (response.status !== 200) throw new Error(`${url} answered with status ${response.status}`);
    return z.record(z.string(), z.unknown()).parse(await response.json());
  }

  async #read(issuer: string): Promise<ProviderMetadata> {
    const url = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
    let answer: unknown;
    try {
      answer = await this.fetchJson(url);
    } catch (error) {
      throw new DiscoveryError("must be an issuer whose discovery document we can read", { cause: error });
    }
    const { data: document, error } = discoveryDocument.safeParse(answer);
    if (!document)
      throw new DiscoveryError("must have a complete OpenID Connect discovery document", { cause: error });
    if (document.issuer !== issuer)
      throw new DiscoveryError("must be exactly the `issuer` of its discovery document");
    const fetchKeys = (keysUrl: string): Promise<Response> => this.#http.fetch(keysUrl);
    const keys = createRemoteJWKSet(new URL(document.jwks_uri), { [customFetch]: fetchKeys });
    const metadata = { ...document, keys };
    if (this.#cache.size >= MAX_CACHED) this.#cache.clear();
    this.#cache.set(issuer, { metadata, expiresMs: performance.now() + CACHE_MS });
    return metadata;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#http[Symbol.asyncDispose]();
  }
}

const CONNECT_MS = 5_000;
const TOTAL_MS = 10_000;
const MAX_BYTES = 256 * 1024;

interface FetchOptions {
  readonly method?: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

interface GuardedFetch extends AsyncDisposable {
  /** Follows no redirect and decompresses nothing. Rejects after 10 s, above 256 KiB, and for a blocked URL or IP address. */
  fetch(url: string, options?: FetchOptions): Promise<Response>;
}

/** Fetches small documents from servers that a user names, through the address guard. */
export function createGuardedFetch(guard: AddressGuard): GuardedFetch {
  const dispatcher = new Agent({
    connect: guard.connector(CONNECT_MS, undefined),
    maxResponseSize: MAX_BYTES,
    connections: 8,
  });
  return {
    async fetch(url, options = {}) {
      const problem = guard.urlProblem(new URL(url));
      if (problem) throw new Error(`${url} ${problem.message}`);
      const signal = AbortSignal.timeout(TOTAL_MS);
      const { statusCode, body } = await request(url, { ...options, dispatcher, signal });
      const text = await body.text();
      return new Response(statusCode === 204 || statusCode === 304 ? null : text, { status: statusCode });
    },
    [Symbol.asyncDispose]: () => dispatcher.destroy(),
  };
}
