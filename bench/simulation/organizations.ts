/** Organisations of uneven size, whose rate of deliveries varies over the day. */
import { SIZE_EXPONENT } from "../seed.ts";
import type { Assumptions } from "./assumptions.ts";

export interface SimulatedOrganization {
  /** Deliveries per second to its endpoint at the peak of its day. */
  peakPerSecond: number;
  peakHour: number;
  /** True if its endpoint never answers with success. */
  isBroken: boolean;
}

/** Each organisation's peak is at a random hour between these. */
const [EARLIEST_PEAK_HOUR, LATEST_PEAK_HOUR] = [11, 17];
const DAY_S = 86_400;

/**
 * Returns the organisations, largest first; the first is not broken. Their rates add up to `deliveriesPerSecond` in the busiest
 * minute of the day.
 */
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

/** Returns the busiest minute of the day, in seconds since midnight. */
export function busiestSecond(partners: readonly SimulatedOrganization[], nightShare: number): number {
  const minutes = Array.from({ length: DAY_S / 60 }, (_, minute) => minute * 60);
  const rates = minutes.map((second) => totalRate(partners, second, nightShare));
  return minutes[rates.indexOf(Math.max(...rates))] ?? 0;
}

/** Returns an organisation's rate at a second of the day: a cosine between its peak and its night. */
export function organizationRate(
  { peakPerSecond, peakHour }: SimulatedOrganization,
  second: number,
  nightShare: number,
): number {
  const angle = 2 * Math.PI * (second / DAY_S - peakHour / 24);
  return peakPerSecond * (nightShare + ((1 - nightShare) * (1 + Math.cos(angle))) / 2);
}

/** Returns the deliveries of a whole day. */
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
