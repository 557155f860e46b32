/** GraphQL subscribers: each stays for a while, then closes cleanly or drops the connection, and is replaced. */
import { setTimeout as pause } from "node:timers/promises";
import { createClient } from "graphql-ws";
import { WebSocket } from "ws";
import type { BenchOrganization } from "../seed.ts";
import { SUBSCRIBER_MEAN_STAY_S } from "./plan.ts";

/** The events that one subscription received. */
export interface SubscribedEvents {
  /** The uuid of the subscriber's organisation. */
  organizationId: string;
  /** Such as `evt_…`. */
  eventIds: Set<string>;
}

export interface SubscriberCounts {
  opened: number;
  events: number;
  /** Events that a subscription received more than once. */
  duplicates: number;
  /** Received events of each subscription, to compare with the feed. */
  subscriptions: SubscribedEvents[];
  /** Reasons of subscriptions that were ended by the server or by an error. */
  failures: string[];
}

export interface Subscribers {
  readonly counts: SubscriberCounts;
  stop(): Promise<void>;
}

const JOB_CHANGED_SUBSCRIPTION = `subscription { jobChanged { id type sequence cursor job { markingNumber normalizedStatus } } }`;
const ABRUPT_LEAVE_SHARE = 0.3;

export function startSubscribers(
  count: number,
  apiUrl: string,
  organizations: readonly BenchOrganization[],
): Subscribers {
  const counts: SubscriberCounts = { opened: 0, events: 0, duplicates: 0, subscriptions: [], failures: [] };
  const stopping = new AbortController();
  const url = `${apiUrl.replace("http", "ws")}/graphql`;
  const slot = async (number: number): Promise<void> => {
    for (let turn = number; !stopping.signal.aborted; turn += count) {
      const follower = openSubscription(
        url,
        organizations[turn % organizations.length] as BenchOrganization,
        counts,
      );
      const stayMs = -Math.log(1 - Math.random()) * SUBSCRIBER_MEAN_STAY_S * 1_000;
      await pause(Math.max(500, stayMs), undefined, { signal: stopping.signal }).catch(() => undefined);
      await follower.leave(Math.random() < ABRUPT_LEAVE_SHARE);
    }
  };
  const slots = Array.from({ length: count }, (_, number) => slot(number));
  return {
    counts,
    async stop() {
      stopping.abort();
      await Promise.all(slots);
    },
  };
}

interface SoakSubscription {
  leave(abruptly: boolean): Promise<void>;
}

function openSubscription(
  url: string,
  { id, key }: BenchOrganization,
  counts: SubscriberCounts,
): SoakSubscription {
  counts.opened += 1;
  const seen = new Set<string>();
  counts.subscriptions.push({ organizationId: id, eventIds: seen });
  let socket: WebSocket | null = null;
  let isLeaving = false;
  const client = createClient({
    url,
    webSocketImpl: WebSocket,
    retryAttempts: 0,
    lazy: false,
    connectionParams: { "x-api-key": key },
    onNonLazyError: (error) => failed(error),
    on: { opened: (opened) => (socket = opened as WebSocket) },
  });
  const failed = (reason: unknown): void => {
    if (!isLeaving) counts.failures.push(describe(reason));
  };
  client.subscribe<{ jobChanged: { id: string } }>(
    { query: JOB_CHANGED_SUBSCRIPTION },
    {
      next({ data, errors }) {
        if (errors) failed(errors);
        const eventId = data?.jobChanged.id;
        if (eventId === undefined) return;
        counts.events += 1;
        if (seen.has(eventId)) counts.duplicates += 1;
        seen.add(eventId);
      },
      error: failed,
      complete: () => failed("completed by the server"),
    },
  );
  return {
    async leave(abruptly) {
      isLeaving = true;
      if (abruptly) socket?.terminate();
      // dispose() rejects with the close event, which we caused.
      await Promise.resolve(client.dispose()).catch(() => undefined);
    },
  };
}

function describe(reason: unknown): string {
  if (reason instanceof Error) return reason.message;
  const { code, reason: why } = reason as { code?: number; reason?: string };
  return code === undefined ? JSON.stringify(reason) : `${code} ${why ?? ""}`;
}
