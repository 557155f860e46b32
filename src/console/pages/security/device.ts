/** Names the browser and the system of a User-Agent header, which can be forged. */

const BROWSERS: readonly [pattern: RegExp, name: string][] = [
  [/\bEdgA?\//, "Edge"],
  [/\bOPR\//, "Opera"],
  [/\bFirefox\//, "Firefox"],
  [/Chrome\//, "Chrome"],
  [/^(?=.*\bVersion\/\d).*Safari\//, "Safari"],
];

const OPERATING_SYSTEMS: readonly [pattern: RegExp, name: string][] = [
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
  const findName = (list: typeof BROWSERS): string | undefined =>
    list.find(([pattern]) => pattern.test(userAgent))?.[1];
  const [browser, system] = [findName(BROWSERS), findName(OPERATING_SYSTEMS)];
  const name = [browser ?? "Other browser", system].filter(Boolean).join(" on ");
  return { name, isMobile: /Mobile|iPhone|iPad|Android/.test(userAgent) };
}
