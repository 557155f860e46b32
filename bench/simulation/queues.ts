/**
 * Simulates the delivery queues in virtual time, in steps of one second: changes arrive at random, workers send within the limits
 * of endpoints and of their own capacity, a share of attempts fails and is retried, and one part of the system is out for a while.
 */
import { poisson } from "../random.ts";
import type { Assumptions } from "./assumptions.ts";
import { organizationRate, type SimulatedOrganization } from "./organizations.ts";
import { SimulatedCircuit, fairShares, AttemptQueues, type PendingGroup } from "./queue-model.ts";

export interface SimulatedOutage {
  /** `receiver`: the endpoint of the largest organisation. */
  target: "receiver" | "workers" | "mongo" | "nothing";
  /** Seconds since the start of the run. */
  fromS: number;
  untilS: number;
}

export interface SimulationRun {
  organizations: readonly SimulatedOrganization[];
  assumptions: Assumptions;
  /** Attempts per second of all workers together. */
  capacityPerSecond: number;
  outage: SimulatedOutage;
  /** Second of the day at which the run starts. */
  startS: number;
  lengthS: number;
  random: () => number;
}

export interface SimulationOutcome {
  arrived: number;
  delivered: number;
  /** Counts at the end: ready to send, scheduled for a retry, and failed. */
  pending: number;
  scheduled: number;
  failed: number;
  /** Deliveries for endpoints that never answer with success. */
  onHold: number;
  /** Highest number of ready deliveries for endpoints that are not broken. */
  maxPending: number;
  /** Seconds after the outage until no organisation has a backlog; null: not within the run. */
  caughtUpS: number | null;
  /** The same for 99 % of the organisations. */
  p99CaughtUpS: number | null;
  /** 99th percentile of the waiting time of first attempts, in seconds: the largest organisation, and all others. */
  biggestP99S: number;
  othersP99S: number;
}

/** Delay before each attempt (WEBHOOK_RETRY_SCHEDULE). */
const SCHEDULE_S = [0, 5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];
/** Interval of the sweep that finds overdue deliveries without a wake-up. */
const SWEEP_INTERVAL_S = 5;
const MINUTE_S = 60;
/** A queue of up to this many seconds at the organisation's peak rate does not count as a backlog. */
const TOLERATED_LAG_S = 5;
const P99 = 0.99;

export function simulateQueues(run: SimulationRun): SimulationOutcome {
  const simulation = new Simulation(run);
  for (let second = 0; second < run.lengthS; second += 1) simulation.step(second);
  return simulation.outcome();
}

class Simulation {
  readonly #run: SimulationRun;
  readonly #lines: AttemptQueues[];
  readonly #circuits: SimulatedCircuit[];
  readonly #limit: number;
  /** Arrivals per second of each organisation, in the current minute. */
  #rates: number[] = [];
  /** Scheduled retries, by their second. */
  readonly #later = new Map<number, { line: number; waiting: PendingGroup }[]>();
  #tally = { arrived: 0, delivered: 0, scheduled: 0, failed: 0, maxPending: 0 };
  readonly #caughtUp: { all: number | null; most: number | null } = { all: null, most: null };
  readonly #waits = { biggest: new Map<number, number>(), others: new Map<number, number>() };

  constructor(run: SimulationRun) {
    this.#run = run;
    this.#lines = run.organizations.map(() => new AttemptQueues());
    this.#circuits = run.organizations.map(() => new SimulatedCircuit());
    const { endpointPerSecond, endpointInFlight, answerS } = run.assumptions;
    this.#limit = Math.floor(Math.min(endpointPerSecond, endpointInFlight / answerS));
  }

  step(second: number): void {
    this.#arrive(second);
    this.#bringBack(second);
    if (!this.#isOut("workers", second)) this.#send(second);
    const waiting = this.#waiting();
    this.#tally.maxPending = Math.max(this.#tally.maxPending, waiting);
    if (second >= this.#run.outage.untilS && this.#caughtUp.all === null) this.#lookBehind(second);
  }

  outcome(): SimulationOutcome {
    const onHold = this.#lines.reduce((sum, line, at) => sum + (this.#isBroken(at) ? line.length : 0), 0);
    return {
      ...this.#tally,
      onHold,
      pending: this.#waiting(),
      caughtUpS: this.#caughtUp.all,
      p99CaughtUpS: this.#caughtUp.most,
      biggestP99S: p99Of(this.#waits.biggest),
      othersP99S: p99Of(this.#waits.others),
    };
  }

  #arrive(second: number): void {
    const { organizations, assumptions, startS, random } = this.#run;
    if (second % MINUTE_S === 0)
      this.#rates = organizations.map((partner) =>
        organizationRate(partner, startS + second, assumptions.nightShare),
      );
    for (const [at, rate] of this.#rates.entries()) {
      const count = poisson(rate, random);
      this.#lines[at]?.enqueue({ sinceS: second, count, attempt: 1 });
      this.#tally.arrived += count;
    }
  }

  #lookBehind(second: number): void {
    const { organizations, outage } = this.#run;
    const behind = organizations.filter(
      ({ isBroken, peakPerSecond }, at) =>
        !isBroken && (this.#lines[at]?.length ?? 0) > TOLERATED_LAG_S * (peakPerSecond + 1),
    ).length;
    if (behind === 0) this.#caughtUp.all = second - outage.untilS;
    if (behind <= organizations.length * (1 - P99)) this.#caughtUp.most ??= second - outage.untilS;
  }

  /** Makes due retries ready. While MongoDB is out they are delayed until the first sweep after the outage. */
  #bringBack(second: number): void {
    for (const { line, waiting } of this.#later.get(second) ?? []) {
      if (this.#isOut("mongo", second)) {
        this.#wake(this.#run.outage.untilS + SWEEP_INTERVAL_S, line, waiting);
        continue;
      }
      this.#tally.scheduled -= waiting.count;
      this.#lines[line]?.enqueue(waiting);
    }
    this.#later.delete(second);
  }

  #send(second: number): void {
    const wanted = this.#lines.map((line, at) => {
      const isDown = this.#isBroken(at) || (at === 0 && this.#isOut("receiver", second));
      return this.#circuits[at]?.allows(second, isDown) ? Math.min(line.length, this.#limit) : 0;
    });
    for (const [at, count] of fairShares(wanted, Math.floor(this.#run.capacityPerSecond)).entries())
      for (const waiting of this.#lines[at]?.dequeue(count) ?? []) this.#attempt(second, at, waiting);
  }

  #attempt(second: number, line: number, { sinceS, count, attempt }: PendingGroup): void {
    const { assumptions, random } = this.#run;
    if (attempt === 1) {
      const waits = line === 0 ? this.#waits.biggest : this.#waits.others;
      waits.set(second - sinceS, (waits.get(second - sinceS) ?? 0) + count);
    }
    const failed = Math.min(count, poisson(count * assumptions.retriedShare, random));
    this.#tally.delivered += count - failed;
    if (failed === 0) return;
    const waitS = SCHEDULE_S[attempt];
    if (waitS === undefined) {
      this.#tally.failed += failed;
      return;
    }
    this.#tally.scheduled += failed;
    this.#wake(second + waitS, line, { sinceS: second + waitS, count: failed, attempt: attempt + 1 });
  }

  #wake(second: number, line: number, waiting: PendingGroup): void {
    const due = this.#later.get(second) ?? [];
    due.push({ line, waiting });
    this.#later.set(second, due);
  }

  #waiting(): number {
    return this.#lines.reduce((sum, line, at) => sum + (this.#isBroken(at) ? 0 : line.length), 0);
  }

  #isBroken(at: number): boolean {
    return this.#run.organizations[at]?.isBroken === true;
  }

  #isOut(what: SimulatedOutage["target"], second: number): boolean {
    const { target, fromS, untilS } = this.#run.outage;
    return target === what && second >= fromS && second < untilS;
  }
}

function p99Of(waits: ReadonlyMap<number, number>): number {
  const total = [...waits.values()].reduce((sum, count) => sum + count, 0);
  let seen = 0;
  for (const [waitS, count] of [...waits].toSorted(([a], [b]) => a - b)) {
    seen += count;
    if (seen >= total * 0.99) return waitS;
  }
  return 0;
}
