/** Dates and times in the user's language. */
const DATE = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", timeZone: "UTC" });
const TIME = new Intl.DateTimeFormat(undefined, {
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
});

/** Formats a date without a time, such as `2026-11-24`. */
export const formatDate = (date: string): string => DATE.format(new Date(date));

export const formatTime = (time: string): string => TIME.format(new Date(time));
