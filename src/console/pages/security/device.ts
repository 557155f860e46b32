/** A browser's own words about itself, as a person would say them. They prove nothing: anybody can send any. */

const BROWSERS: readonly [mark: RegExp, name: string][] = [
  [/\bEdgA?\//, "Edge"],
  [/\bOPR\//, "Opera"],
  [/\bFirefox\//, "Firefox"],
  [/Chrome\//, "Chrome"],
  [/^(?=.*\bVersion\/\d).*Safari\//, "Safari"],
];

const OPERATING_SYSTEMS: readonly [mark: RegExp, name: string][] = [
  [/iPhone|iPad/, "iOS"],
  [/Android/, "Android"],
  [/Windows/, "Windows"],
  [/Mac OS X|Macintosh/, "macOS"],
  [/CrOS/, "ChromeOS"],
  [/Linux/, "Linux"],
];

export interface Device {
  name: string;
  isMobile: boolean;
}

export function describeDevice(userAgent: string | null): Device {
  if (userAgent === null || userAgent === "") return { name: "Unknown browser", isMobile: false };
  const named = (list: typeof BROWSERS): string | undefined =>
    list.find(([mark]) => mark.test(userAgent))?.[1];
  const [browser, system] = [named(BROWSERS), named(OPERATING_SYSTEMS)];
  const name = [browser ?? "Another browser", system].filter(Boolean).join(" on ");
  return { name, isMobile: /Mobile|iPhone|iPad|Android/.test(userAgent) };
}
