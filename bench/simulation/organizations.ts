/** How much comes from whom, and when: organisations of uneven size, each with its day. */
import { SIZE_EXPONENT } from "../seed.ts";
import type { Assumptions } from "./assumptions.ts";

export interface SimulatedOrganization {
  /** Of its endpoint, at the busiest minute of its day. */
  peakPerSecond: number;
  peakHour: number;
  /** Whether its endpoint ever answers. */
  isBroken: boolean;
}

/** Between which organisations have their peaks. */
const [EARLIEST_PEAK_HOUR, LATEST_PEAK_HOUR] = [11, 17];
const DAY_S = 86_400;

/** The biggest first; it is not broken. Their sum is `deliveriesPerSecond` in the busiest minute of the day, and less in all others. */
export function createOrganizations(assumptions: Assumptions, random: () => number): SimulatedOrganization[] {
  const { organizations, deliveriesPerSecond, brokenShare, nightShare } = assumptions;
  const partners = Array.from({ length: organizations }, (_, at): SimulatedOrganization => ({
    peakPerSecond: (at + 1) ** -SIZE_EXPONENT,
    peakHour: EARLIEST_PEAK_HOUR + (LATEST_PEAK_HOUR - EARLIEST_PEAK_HOUR) * random(),
    isBroken: at > 0 && random() < brokenShare,
  }));
  const scale = deliveriesPerSecond / totalRate(partners, busiestSecond(partners, nightShare), nightShare);
  return partners.map((partner) => ({ ...partner, peakPerSecond: partner.peakPerSecond * scale }));
}

/** Seconds since midnight. */
export function busiestSecond(partners: readonly SimulatedOrganization[], nightShare: number): number {
  const minutes = Array.from({ length: DAY_S / 60 }, (_, minute) => minute * 60);
  const rates = minutes.map((second) => totalRate(partners, second, nightShare));
  return minutes[rates.indexOf(Math.max(...rates))] ?? 0;
}

/** Of one partner at its time of day: a wave from its peak down to its night and back. */
export function organizationRate(
  { peakPerSecond, peakHour }: SimulatedOrganization,
  second: number,
  nightShare: number,
): number {
  const angle = 2 * Math.PI * (second / DAY_S - peakHour / 24);
  return peakPerSecond * (nightShare + ((1 - nightShare) * (1 + Math.cos(angle))) / 2);
}

/** Of a whole day. */
export function computeDeliveriesPerDay(
  partners: readonly SimulatedOrganization[],
  nightShare: number,
): number {
  const peaks = partners.reduce((total, { peakPerSecond }) => total + peakPerSecond, 0);
  return peaks * DAY_S * (nightShare + (1 - nightShare) / 2);
}

function totalRate(partners: readonly SimulatedOrganization[], second: number, nightShare: number): number {
  return partners.reduce((total, partner) => total + organizationRate(partner, second, nightShare), 0);
}
