/** What a dispatcher keeps in memory of the endpoints that it is sending to: where, how fast, and how that is going. */
import type { KeyObject } from "node:crypto";
import type { Clock } from "../platform/clock.ts";
import type { Queryable } from "../platform/database.ts";
import type { OrganizationType } from "../platform/principal.ts";
import type { SecretBox } from "../platform/secret-box.ts";
import { sql } from "../platform/sql.ts";
import { createTokenBucket, type TokenBucket } from "../platform/token-bucket.ts";
import { createCircuitWindow, type CircuitWindow } from "./circuit.ts";
import type { SealedSecret } from "./endpoint.entity.ts";
import { openHeaders, sealedFor, stillSigning } from "./endpoint.secrets.ts";
import { signingKey } from "./signature.ts";

export interface EndpointState {
  readonly id: string;
  /** The version of the row that this was read from. */
  version: number;
  organizationId: string;
  organizationType: OrganizationType;
  url: string;
  headers: Readonly<Record<string, string>>;
  /** Newest first, with when each stops signing. */
  secrets: readonly { key: KeyObject; expiresAtMs: number }[];
  /** Null: readable. Otherwise why nothing can be signed. */
  problem: string | null;
  maxInFlight: number;
  perSecond: number;
  inFlight: number;
  /**
   * How many may be on their way as long as nothing more is known of it: few at first, twice as many with each success,
   * one after a failure. So endpoints that hang hold few slots, however many they are.
   */
  trusted: number;
  /** Whether its last answer took long. */
  isSlow: boolean;
  readonly bucket: TokenBucket;
  readonly window: CircuitWindow;
}

interface Row {
  id: string;
  version: number;
  organization_id: string;
  organization_type: OrganizationType;
  url: string;
  sealed_headers: string | null;
  secrets: SealedSecret[];
  max_in_flight: number;
  per_second: number;
}

/** How many deliveries an endpoint gets at first. */
export const FIRST_TRUSTED = 2;

const SLOW_MS = 1_000;
const FORGET_EVERY_MS = 60_000;

export interface Allowances {
  counts: Map<string, number>;
  /** Whether some endpoint gets nothing because its rate is used up. */
  isRateShort: boolean;
}

export interface EndpointStatesParts {
  database: Queryable;
  box: Pick<SecretBox, "open">;
  /** Says which secrets have expired. */
  clock: Pick<Clock, "now">;
}

export class EndpointStates {
  readonly #states = new Map<string, EndpointState>();
  readonly #parts: EndpointStatesParts;
  #workers = 1;
  #forgetAtMs = 0;

  constructor(parts: EndpointStatesParts) {
    this.#parts = parts;
  }

  get workers(): number {
    return this.#workers;
  }

  get(id: string): EndpointState | undefined {
    return this.#states.get(id);
  }

  /** How many workers share the limits of an endpoint from now on. */
  share(workers: number): void {
    this.#workers = Math.max(1, workers);
    for (const state of this.#states.values()) this.#setRate(state);
  }

  /**
   * How many more deliveries each endpoint may have now, for those that differ from one that is not known. `isScarce`:
   * most slots are taken, so who is slow gets no more than who is unknown.
   */
  allowances(nowMs: number, isScarce: boolean): Allowances {
    const counts = new Map<string, number>();
    let isRateShort = false;
    for (const state of this.#states.values()) {
      const tokens = Math.floor(state.bucket.available(nowMs));
      if (tokens === 0) isRateShort = true;
      if (state.inFlight === 0 && tokens >= FIRST_TRUSTED && state.trusted >= FIRST_TRUSTED) continue;
      const trusted = isScarce && state.isSlow ? Math.min(FIRST_TRUSTED, state.trusted) : state.trusted;
      const slots = Math.min(trusted, this.#shareOf(state.maxInFlight)) - state.inFlight;
      counts.set(state.id, Math.max(0, Math.min(slots, tokens)));
    }
    return { counts, isRateShort };
  }

  /** Learns from an attempt that has ended how much the endpoint takes. */
  learn(state: EndpointState, succeeded: boolean, durationMs: number): void {
    state.trusted = succeeded ? Math.min(state.maxInFlight, state.trusted * 2) : 1;
    state.isSlow = durationMs > SLOW_MS;
  }

  /** Milliseconds until the first of the endpoints that have used up their rate may be sent to again; null: none has. */
  msUntilRefill(nowMs: number): number | null {
    let least: number | null = null;
    for (const { bucket } of this.#states.values()) {
      const ms = bucket.msUntil(1, nowMs);
      if (ms > 0 && (least === null || ms < least)) least = ms;
    }
    return least;
  }

  /** Reads anew those of `wanted` (id and version) that are not in memory at that version. */
  async load(wanted: ReadonlyMap<string, number>, nowMs: number): Promise<void> {
    const stale = [...wanted].filter(([id, version]) => this.#states.get(id)?.version !== version);
    if (stale.length === 0) return;
    const rows = await this.#parts.database.query<Row>(sql`
      select endpoint.id, endpoint.version, organization_id, organization.type as organization_type, url, sealed_headers,
        secrets, max_in_flight, per_second
      from webhook_endpoint endpoint join organization on organization.id = organization_id
      where endpoint.id = any(${stale.map(([id]) => id)}::uuid[])`);
    for (const row of rows) this.#keep(row, nowMs);
  }

  /** Forgets endpoints that nothing is sent to and that have nothing to remember; once a minute does. */
  forgetIdle(nowMs: number): void {
    if (nowMs < this.#forgetAtMs) return;
    this.#forgetAtMs = nowMs + FORGET_EVERY_MS;
    for (const [id, { bucket, inFlight, perSecond, window }] of this.#states) {
      const isFull = bucket.available(nowMs) >= this.#shareOf(perSecond);
      if (inFlight === 0 && isFull && window.isEmpty(nowMs)) this.#states.delete(id);
    }
  }

  #keep(row: Row, nowMs: number): void {
    const known = this.#states.get(row.id);
    // How another receiver did says nothing of the new one.
    const same = known?.url === row.url ? known : undefined;
    const state: EndpointState = {
      ...this.#open(row),
      id: row.id,
      version: row.version,
      organizationId: row.organization_id,
      organizationType: row.organization_type,
      url: row.url,
      maxInFlight: row.max_in_flight,
      perSecond: row.per_second,
      inFlight: known?.inFlight ?? 0,
      trusted: same?.trusted ?? FIRST_TRUSTED,
      isSlow: same?.isSlow ?? false,
      bucket: known?.bucket ?? createTokenBucket({ perSecond: row.per_second, burst: row.per_second }, nowMs),
      window: same?.window ?? createCircuitWindow(),
    };
    if (known) Object.assign(known, state);
    else this.#states.set(row.id, state);
    this.#setRate(state);
  }

  #open({
    id,
    sealed_headers: headers,
    secrets,
  }: Row): Pick<EndpointState, "headers" | "secrets" | "problem"> {
    const { box, clock } = this.#parts;
    try {
      return {
        headers: openHeaders(box, id, headers),
        secrets: stillSigning(secrets, clock.now()).map(({ sealed, expires_at: expiresAt }) => ({
          key: signingKey(box.open(sealed, sealedFor(id))),
          expiresAtMs: expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(expiresAt),
        })),
        problem: null,
      };
    } catch (error) {
      return { headers: {}, secrets: [], problem: error instanceof Error ? error.message : "unreadable" };
    }
  }

  #setRate(state: EndpointState): void {
    const perSecond = this.#shareOf(state.perSecond);
    state.bucket.setRate({ perSecond, burst: perSecond });
  }

  #shareOf(limit: number): number {
    return Math.max(1, Math.floor(limit / this.#workers));
  }
}
