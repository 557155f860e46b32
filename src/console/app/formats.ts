/** Formats numbers, days and times: English texts have one locale, which is not the browser's. */
const LOCALE = "en-GB";

const dayFormat = new Intl.DateTimeFormat(LOCALE, { dateStyle: "medium", timeZone: "UTC" });
const shortDayFormat = new Intl.DateTimeFormat(LOCALE, { day: "numeric", month: "short", timeZone: "UTC" });
const numberFormat = new Intl.NumberFormat(LOCALE, { maximumFractionDigits: 6 });
const relativeFormat = new Intl.RelativeTimeFormat(LOCALE, { numeric: "auto" });

/** `exact`: to the minute; `precise`: to the second; `zoned`: to the second, with the time zone. */
const timeStyles = {
  exact: { dateStyle: "medium", timeStyle: "short" },
  precise: { dateStyle: "medium", timeStyle: "medium" },
  zoned: { dateStyle: "medium", timeStyle: "long" },
} as const satisfies Record<string, Intl.DateTimeFormatOptions>;

export type TimeStyle = keyof typeof timeStyles;

/** Creating a format takes longer than formatting a page of times. */
const timeFormats = new Map<string, Intl.DateTimeFormat>();

export function formatTime(instant: Date, zone: string, style: TimeStyle): string {
  const key = `${style} ${zone}`;
  const format =
    timeFormats.get(key) ?? new Intl.DateTimeFormat(LOCALE, { ...timeStyles[style], timeZone: zone });
  timeFormats.set(key, format);
  return format.format(instant);
}

/** A calendar day such as `2026-11-21`, independent of the time zone. Returns other text unchanged. */
export function formatDay(day: string): string {
  const instant = Date.parse(`${day}T00:00:00Z`);
  return Number.isNaN(instant) ? day : dayFormat.format(instant);
}

/** As `formatDay`, without the year. */
export function formatShortDay(day: string): string {
  return shortDayFormat.format(Date.parse(day));
}

export function formatNumber(number: number): string {
  return numberFormat.format(number);
}

export function formatDecimals(number: number, maximumFractionDigits: number): string {
  return number.toLocaleString(LOCALE, { maximumFractionDigits });
}

const units = ["kilobyte", "megabyte", "gigabyte", "terabyte"] as const;

/** For example "1.2 GB", in powers of 1,000; at least kB. */
export function formatBytes(bytes: number): string {
  const power = Math.min(Math.max(Math.floor(Math.log10(bytes) / 3), 1), units.length);
  const style = {
    style: "unit",
    unit: units[power - 1],
    unitDisplay: "short",
    maximumFractionDigits: 1,
  } as const;
  return new Intl.NumberFormat(LOCALE, style).format(bytes / 1_000 ** power);
}

export function formatPercent(share: number): string {
  return share.toLocaleString(LOCALE, { style: "percent", maximumFractionDigits: 1 });
}

/** Formats a count with its noun: `12 jobs`. */
export function formatCount(count: number, singular: string, plural = `${singular}s`): string {
  return `${formatNumber(count)} ${count === 1 ? singular : plural}`;
}

export function formatRelative(value: number, unit: Intl.RelativeTimeFormatUnit): string {
  return relativeFormat.format(value, unit);
}

const clockFormats = new Map<string, Intl.DateTimeFormat>();

/** The date and time that clocks in `zone` show, to the second, as if it were UTC: a spreadsheet's times have no zone. */
export function clockIn(instant: Date, zone: string): Date {
  // The Swedish format is nearly ISO 8601.
  const format =
    clockFormats.get(zone) ??
    new Intl.DateTimeFormat("sv-SE", { timeZone: zone, dateStyle: "short", timeStyle: "medium" });
  clockFormats.set(zone, format);
  return new Date(`${format.format(instant).replace(" ", "T")}Z`);
}
