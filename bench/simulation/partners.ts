/** How much comes from whom, and when: organisations of uneven size, each with its day. */
import { UNEVENNESS } from "../seed.ts";
import type { Assumptions } from "./assumptions.ts";

export interface Partner {
  /** Of its endpoint, at the busiest minute of its day. */
  peakPerSecond: number;
  peakHour: number;
  /** Whether its endpoint ever answers. */
  isBroken: boolean;
}

/** Between which organisations have their peaks. */
const [FIRST_PEAK, LAST_PEAK] = [11, 17];
const DAY_S = 86_400;

/** The biggest first; it is not broken. Their sum is `deliveriesPerSecond` in the busiest minute of the day, and less in all others. */
export function partnersOf(assumptions: Assumptions, random: () => number): Partner[] {
  const { organizations, deliveriesPerSecond, brokenShare, nightShare } = assumptions;
  const partners = Array.from({ length: organizations }, (_, at): Partner => ({
    peakPerSecond: (at + 1) ** -UNEVENNESS,
    peakHour: FIRST_PEAK + (LAST_PEAK - FIRST_PEAK) * random(),
    isBroken: at > 0 && random() < brokenShare,
  }));
  const scale =
    deliveriesPerSecond / ratePerSecond(partners, busiestSecond(partners, nightShare), nightShare);
  return partners.map((partner) => ({ ...partner, peakPerSecond: partner.peakPerSecond * scale }));
}

/** Seconds since midnight. */
export function busiestSecond(partners: readonly Partner[], nightShare: number): number {
  const minutes = Array.from({ length: DAY_S / 60 }, (_, minute) => minute * 60);
  const rates = minutes.map((second) => ratePerSecond(partners, second, nightShare));
  return minutes[rates.indexOf(Math.max(...rates))] ?? 0;
}

/** Of one partner at its time of day: a wave from its peak down to its night and back. */
export function rateOf({ peakPerSecond, peakHour }: Partner, second: number, nightShare: number): number {
  const angle = 2 * Math.PI * (second / DAY_S - peakHour / 24);
  return peakPerSecond * (nightShare + ((1 - nightShare) * (1 + Math.cos(angle))) / 2);
}

/** Of a whole day. */
export function perDay(partners: readonly Partner[], nightShare: number): number {
  const peaks = partners.reduce((total, { peakPerSecond }) => total + peakPerSecond, 0);
  return peaks * DAY_S * (nightShare + (1 - nightShare) / 2);
}

function ratePerSecond(partners: readonly Partner[], second: number, nightShare: number): number {
  return partners.reduce((total, partner) => total + rateOf(partner, second, nightShare), 0);
}
