/** The dispatcher's in-memory state of endpoints: URL, secrets, limits, slow start and circuit. */
import type { KeyObject } from "node:crypto";
import type { Loaded } from "@mikro-orm/postgresql";
import type { Clock } from "../../core/clock.ts";
import type { Database } from "../../core/postgres/database.ts";
import { modeOf, type OrganizationMode, partnerIdOf } from "../../organizations/api.ts";
import type { OrganizationType } from "../../core/principal.ts";
import type { SecretBox } from "../../core/secret-box.ts";
import { TokenBucket } from "../../core/concurrency/token-bucket.ts";
import { MINUTE_MS } from "../../core/time.ts";
import { WebhookEndpoint } from "../endpoints/entity.ts";
import type { RetryPolicies, RetryPolicy } from "../retry-policy.ts";
import { activeSecrets, openHeaders, openSecret, signingKey } from "../signing/secrets.ts";
import { CircuitWindow } from "./retry-or-disable.ts";

export interface EndpointState {
  readonly id: string;
  /** The version of the row that was loaded. */
  version: number;
  organizationId: string;
  partnerId: string;
  organizationType: OrganizationType;
  mode: OrganizationMode;
  retryPolicy: RetryPolicy;
  url: string;
  headers: Readonly<Record<string, string>>;
  /** Newest first. */
  secrets: readonly { key: KeyObject; expiresAtMs: number }[];
  /** Why secrets or headers cannot be decrypted; null if they can. */
  problem: string | null;
  maxInFlight: number;
  perSecond: number;
  inFlight: number;
  /**
   * Slow start: the number of deliveries that may be in flight. It starts at 2, doubles with each success and drops to 1
   * after a failure, so that endpoints that hang occupy few slots.
   */
  concurrencyWindow: number;
  /** True if the last attempt took longer than 1 s. */
  isSlow: boolean;
  readonly bucket: TokenBucket;
  readonly circuit: CircuitWindow;
}

/** Deliveries in flight in this process, over all endpoints. */
export const MAX_IN_FLIGHT = 512;
/** One partner's share of them. Two partners whose receivers hang leave a third for others. */
export const MAX_IN_FLIGHT_PER_PARTNER = Math.floor(MAX_IN_FLIGHT / 3);

export const INITIAL_WINDOW = 2;

const SLOW_AFTER_MS = 1_000;
const EVICT_INTERVAL_MS = MINUTE_MS;

export interface SendBudgets {
  byEndpoint: Map<string, number>;
  /** Those of partners that have deliveries in flight. */
  byPartner: Map<string, number>;
  /** True if at least one endpoint has used up its rate. */
  isRateLimited: boolean;
}

export interface EndpointStatesDeps {
  database: Pick<Database, "em">;
  secretBox: Pick<SecretBox, "open">;
  clock: Pick<Clock, "now">;
  retryPolicies: RetryPolicies;
}

export class EndpointStates {
  readonly #states = new Map<string, EndpointState>();
  readonly #deps: EndpointStatesDeps;
  #workerCount = 1;
  #evictAtMs = 0;

  constructor(deps: EndpointStatesDeps) {
    this.#deps = deps;
  }

  get workerCount(): number {
    return this.#workerCount;
  }

  get(id: string): EndpointState | undefined {
    return this.#states.get(id);
  }

  /** Sets the number of workers that share the limits of each endpoint. */
  setWorkerCount(workerCount: number): void {
    this.#workerCount = Math.max(1, workerCount);
    for (const state of this.#states.values()) this.#setRate(state);
  }

  /**
   * The number of deliveries that each endpoint may receive now. Omits endpoints that can use the initial window. If
   * `isSaturated` (few free slots), slow endpoints get at most the initial window.
   */
  sendBudgets(nowMs: number, isSaturated: boolean): SendBudgets {
    const byEndpoint = new Map<string, number>();
    const byPartner = this.#partnerBudgets();
    let isRateLimited = false;
    for (const state of this.#states.values()) {
      if (byPartner.get(state.partnerId) === 0) {
        byEndpoint.set(state.id, 0);
        continue;
      }
      const tokens = Math.floor(state.bucket.available(nowMs));
      if (tokens === 0) isRateLimited = true;
      if (state.inFlight === 0 && tokens >= INITIAL_WINDOW && state.concurrencyWindow >= INITIAL_WINDOW)
        continue;
      const window =
        isSaturated && state.isSlow
          ? Math.min(INITIAL_WINDOW, state.concurrencyWindow)
          : state.concurrencyWindow;
      const slots = Math.min(window, this.#perWorker(state.maxInFlight)) - state.inFlight;
      byEndpoint.set(state.id, Math.max(0, Math.min(slots, tokens)));
    }
    return { byEndpoint, byPartner, isRateLimited };
  }

  /** Returns the endpoints among `ids` whose partner has its share of deliveries in flight. */
  ofBusyPartners(ids: readonly string[]): string[] {
    const budgets = this.#partnerBudgets();
    return ids.filter((id) => budgets.get(this.#states.get(id)?.partnerId ?? "") === 0);
  }

  #partnerBudgets(): Map<string, number> {
    const budgets = new Map<string, number>();
    for (const { partnerId, inFlight } of this.#states.values())
      if (inFlight > 0)
        budgets.set(partnerId, (budgets.get(partnerId) ?? MAX_IN_FLIGHT_PER_PARTNER) - inFlight);
    return budgets;
  }

  /** Adjusts the concurrency window after an attempt. */
  recordResult(state: EndpointState, succeeded: boolean, durationMs: number): void {
    state.concurrencyWindow = succeeded ? Math.min(state.maxInFlight, state.concurrencyWindow * 2) : 1;
    state.isSlow = durationMs > SLOW_AFTER_MS;
  }

  /** Milliseconds until the first rate-limited endpoint has a token again; null if none is rate-limited. */
  msUntilRefill(nowMs: number): number | null {
    let soonestMs: number | null = null;
    for (const { bucket } of this.#states.values()) {
      const ms = bucket.msUntil(1, nowMs);
      if (ms > 0 && (soonestMs === null || ms < soonestMs)) soonestMs = ms;
    }
    return soonestMs;
  }

  /** Loads the endpoints of `wanted` (id to version) that are missing or have another version. */
  async load(wanted: ReadonlyMap<string, number>, nowMs: number): Promise<void> {
    const stale = [...wanted].filter(([id, version]) => this.#states.get(id)?.version !== version);
    if (stale.length === 0) return;
    const endpoints = await this.#deps.database
      .em()
      .find(
        WebhookEndpoint,
        { id: { $in: stale.map(([id]) => id) } },
        { populate: ["organization"], filters: false },
      );
    for (const endpoint of endpoints) this.#store(endpoint, nowMs);
  }

  /** Evicts endpoints that are back in their initial state. Runs at most once a minute. */
  evictIdle(nowMs: number): void {
    if (nowMs < this.#evictAtMs) return;
    this.#evictAtMs = nowMs + EVICT_INTERVAL_MS;
    for (const [id, { bucket, inFlight, perSecond, circuit }] of this.#states) {
      const isFull = bucket.available(nowMs) >= this.#perWorker(perSecond);
      if (inFlight === 0 && isFull && circuit.isEmpty(nowMs)) this.#states.delete(id);
    }
  }

  #store(endpoint: Loaded<WebhookEndpoint, "organization">, nowMs: number): void {
    const { id, version, organization, url, maxInFlight, perSecond } = endpoint;
    const mode = modeOf(organization);
    const existing = this.#states.get(id);
    // A new URL is another receiver and starts without history.
    const sameUrl = existing?.url === url ? existing : undefined;
    const state: EndpointState = {
      ...this.#decrypt(endpoint),
      id,
      version,
      organizationId: organization.id,
      partnerId: partnerIdOf(organization),
      organizationType: organization.type,
      mode,
      retryPolicy: this.#deps.retryPolicies[mode],
      url,
      maxInFlight,
      perSecond,
      inFlight: existing?.inFlight ?? 0,
      concurrencyWindow: sameUrl?.concurrencyWindow ?? INITIAL_WINDOW,
      isSlow: sameUrl?.isSlow ?? false,
      bucket: existing?.bucket ?? new TokenBucket({ perSecond, burst: perSecond }, nowMs),
      circuit: sameUrl?.circuit ?? new CircuitWindow(),
    };
    if (existing) Object.assign(existing, state);
    else this.#states.set(id, state);
    this.#setRate(state);
  }

  #decrypt({
    id,
    sealedHeaders: headers,
    secrets,
  }: WebhookEndpoint): Pick<EndpointState, "headers" | "secrets" | "problem"> {
    const { secretBox, clock } = this.#deps;
    try {
      return {
        headers: openHeaders(secretBox, id, headers),
        secrets: activeSecrets(secrets, clock.now()).map((secret) => ({
          key: signingKey(openSecret(secretBox, id, secret)),
          expiresAtMs: secret.expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(secret.expires_at),
        })),
        problem: null,
      };
    } catch (error) {
      return { headers: {}, secrets: [], problem: error instanceof Error ? error.message : "unreadable" };
    }
  }

  #setRate(state: EndpointState): void {
    const perSecond = this.#perWorker(state.perSecond);
    state.bucket.setRate({ perSecond, burst: perSecond });
  }

  #perWorker(limit: number): number {
    return Math.max(1, Math.floor(limit / this.#workerCount));
  }
}
