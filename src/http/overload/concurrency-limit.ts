/**
 * How many requests may be in work at once. In calm so many that a burst finds room. Where requests stand in line for
 * longer than a moment, and answers take longer than they may (calm-times.ts), so few that those in work are answered in
 * time again; then more, one by one, as long as that holds. It looks a few times a second, when a request comes, and has no
 * timer. Docs: docs/decisions/0037-a-limit-that-finds-itself.md.
 */
import { CalmTimes } from "./calm-times.ts";

export interface LimitBounds {
  /** In calm. */
  most: number;
}

/** Under any load: enough to keep the process and PostgreSQL busy. */
const LEAST = 4;
const LOOK_EVERY_MS = 100;
/** Where fewer answers than this tell how it goes, a look may take longer. */
const ENOUGH_ANSWERS = 10;
const LONGEST_LOOK_MS = 1_000;
/** With so many in work, or fewer, all the while, an answer was made in calm. */
const CALM = 2;
/** A burst is no overload: before the first cut the line has stood for so many looks. */
const STANDING_LOOKS = 3;
/** Below this part of what answers may take there is room for one more. */
const ROOM_BELOW = 0.8;
/** Each cut takes a tenth away at least; and no answer alone says more than this. */
const LEAST_CUT = 0.9;
const MOST_PRESSURE = 10;
/** So often under lasting overload, and for so long, only as many as in calm are let in, to learn anew what calm is. */
const LEARN_EVERY_MS = 10_000;
/** Where nothing of what was answered is known. */
const LEARN_AGAIN_MS = 3_000;
const LEARN_FROM = 20;
const LEARN_FOR_MS = 1_000;

/** What has been seen since the last look. */
interface Seen {
  sinceMs: number;
  refused: number;
  leastInWork: number;
  mostInWork: number;
  /** Of requests that came under the present limit. */
  answers: number;
  /** Of these, those of a kind whose time in calm is known. */
  judged: number;
  /** The sum of what the answers took, each as a part of what it may take. */
  pressure: number;
}

export class ConcurrencyLimit {
  readonly #most: number;
  readonly #times = new CalmTimes();
  #limit: number;
  #inWork = 0;
  #seen: Seen;
  #looks = 0;
  /** What began before has met another limit, and says nothing of this one. */
  #changedMs = 0;
  #crowdedMs = -1;
  /** Null: nothing is learnt on purpose. */
  #learningSinceMs: number | null = null;
  #learned = 0;
  #learnedMs = -Infinity;

  constructor({ most }: LimitBounds) {
    this.#most = Math.max(most, LEAST);
    this.#limit = this.#most;
    this.#seen = nothingSeen(0, 0);
  }

  get inWork(): number {
    return this.#inWork;
  }

  get limit(): number {
    return this.#isLearning ? CALM : Math.floor(this.#limit);
  }

  /** Whether fewer are let in than in calm. */
  get isLowered(): boolean {
    return this.#isLearning || this.#limit < this.#most;
  }

  get #isLearning(): boolean {
    return this.#learningSinceMs !== null;
  }

  get hasRoom(): boolean {
    return this.#inWork < this.limit;
  }

  refused(): void {
    this.#seen.refused += 1;
  }

  began(nowMs: number): void {
    this.#inWork += 1;
    if (this.#inWork > CALM) this.#crowdedMs = nowMs;
    if (this.#inWork > this.#seen.mostInWork) this.#seen.mostInWork = this.#inWork;
  }

  /** It is over, or its client's turn, and tells nothing. */
  left(nowMs: number): void {
    if (this.#inWork > CALM) this.#crowdedMs = nowMs;
    this.#inWork -= 1;
    if (this.#inWork < this.#seen.leastInWork) this.#seen.leastInWork = this.#inWork;
  }

  /** It was answered as it should be. `kind`: those that take about as long. */
  answered(kind: string, beganMs: number, nowMs: number): void {
    this.left(nowMs);
    const tookMs = nowMs - beganMs;
    if (beganMs > this.#crowdedMs) this.#learn(kind, tookMs, nowMs);
    if (beganMs < this.#changedMs) return;
    this.#seen.answers += 1;
    const allowedMs = this.#times.allowedMs(kind);
    if (allowedMs === null) return;
    this.#seen.judged += 1;
    this.#seen.pressure += Math.min(tookMs / allowedMs, MOST_PRESSURE);
  }

  /** To be asked when a request comes: whether enough was seen to look what the limit should be. */
  isTimeToLook(nowMs: number): boolean {
    const { sinceMs, answers } = this.#seen;
    const tookMs = nowMs - sinceMs;
    if (tookMs < LOOK_EVERY_MS) return false;
    return this.#isLearning || answers >= ENOUGH_ANSWERS || tookMs >= LONGEST_LOOK_MS;
  }

  look(nowMs: number): void {
    if (this.#learningSinceMs === null) this.#adjust(nowMs);
    else if (this.#hasLearnt(nowMs - this.#learningSinceMs)) this.#endLearning(nowMs);
    this.#seen = nothingSeen(nowMs, this.#inWork);
  }

  #adjust(nowMs: number): void {
    const { refused, leastInWork } = this.#seen;
    const isStanding = refused > 0 || leastInWork > LEAST;
    this.#looks = isStanding ? this.#looks + 1 : 0;
    if (!isStanding) this.#raiseTo(this.#limit * 2);
    else if (refused > 0 || this.isLowered || this.#looks >= STANDING_LOOKS) this.#answerTo(nowMs);
  }

  /** To a line that stands. */
  #answerTo(nowMs: number): void {
    const { refused, mostInWork, answers, judged, pressure } = this.#seen;
    const isTimeToLearn = nowMs - this.#learnedMs >= (judged === 0 ? LEARN_AGAIN_MS : LEARN_EVERY_MS);
    // Those in work take long whoever else is let in: no reason to shut out the others for as long.
    if (judged === 0 && answers < ENOUGH_ANSWERS) this.#raiseTo(this.#limit + LEAST);
    // Where nobody has to be refused any more, nothing need be learnt.
    else if (refused > 0 && isTimeToLearn && this.#inWork > CALM) this.#beginLearning(nowMs);
    else if (pressure > judged) this.#cut(Math.min(this.#limit, mostInWork), judged / pressure, nowMs);
    else if (pressure <= judged * ROOM_BELOW) this.#raiseTo(this.#limit + 1);
  }

  #raiseTo(limit: number): void {
    this.#limit = Math.min(this.#most, limit);
  }

  #cut(from: number, part: number, nowMs: number): void {
    this.#limit = Math.max(LEAST, from * Math.min(part, LEAST_CUT));
    this.#changedMs = nowMs;
  }

  #learn(kind: string, tookMs: number, nowMs: number): void {
    this.#times.learn(kind, tookMs);
    this.#learned += 1;
    if (this.#learned >= LEARN_FROM && !this.#isLearning) this.#endLearning(nowMs);
  }

  /** Enough, or for long enough; or those who have the places keep them, and nothing is to be learnt from the others. */
  #hasLearnt(learningMs: number): boolean {
    const isStuck = this.#learned === 0 && !this.hasRoom && this.#inWork >= this.#seen.mostInWork;
    return isStuck || this.#learned >= LEARN_FROM || learningMs >= LEARN_FOR_MS;
  }

  #beginLearning(nowMs: number): void {
    this.#learningSinceMs = nowMs;
    this.#learned = 0;
    this.#changedMs = nowMs;
  }

  #endLearning(nowMs: number): void {
    if (this.#isLearning) this.#changedMs = nowMs;
    this.#learningSinceMs = null;
    this.#learned = 0;
    this.#learnedMs = nowMs;
  }
}

function nothingSeen(sinceMs: number, inWork: number): Seen {
  return { sinceMs, refused: 0, leastInWork: inWork, mostInWork: inWork, answers: 0, judged: 0, pressure: 0 };
}
