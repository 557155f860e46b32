/** A part of the API that will be removed: what it is, until when it works, and what replaces it. */

/** `operation` is a method and a path in OpenAPI's form, such as `GET /v1/jobs`. Without a part, it is the operation itself. */
export interface RestTarget {
  readonly operation: string;
  readonly part?:
    | { readonly in: "query" | "header"; readonly name: string }
    /** A path in the JSON body, such as `jobs[].pts`; for a response below `data`. */
    | { readonly in: "request" | "response"; readonly name: string };
}

export interface Deprecation {
  /** Stable and unique, such as `jobs-page`. */
  readonly id: string;
  /** A GraphQL coordinate: `Job.pts`, `Query.jobs(first:)`, `JobPatch.pts` or `JobOrderField.PTS`. */
  readonly target: RestTarget | { readonly coordinate: string };
  /** The day of the announcement, such as `2027-01-31`. */
  readonly since: string;
  /** The first day without it, at least 12 months later. */
  readonly sunset: string;
  /** What to use instead, as a sentence. */
  readonly replacement: string;
  /** Path of the replacing operation, such as `/v1/events`. */
  readonly successor?: string;
}

/** Throws if an ID repeats, a date is invalid, or there are fewer than 12 months between the dates. */
export function checkDeprecations(deprecations: readonly Deprecation[]): void {
  const ids = new Set(deprecations.map(({ id }) => id));
  if (ids.size < deprecations.length) throw new Error("Two deprecations have the same ID");
  for (const { id, since, sunset } of deprecations) {
    const [from, until] = [since, sunset].map((day) => new Date(`${day}T00:00:00Z`)) as [Date, Date];
    if (Number.isNaN(from.getTime()) || Number.isNaN(until.getTime()))
      throw new Error(`The deprecation ${id} needs dates such as 2027-01-31`);
    from.setUTCFullYear(from.getUTCFullYear() + 1);
    if (until < from)
      throw new Error(`The deprecation ${id} needs 12 months from ${since} to its sunset, ${sunset}`);
  }
}

/** Returns the name for people, such as `GET /v1/jobs: query parameter page`. */
export function nameOf({ target }: Deprecation): string {
  if ("coordinate" in target) return `GraphQL ${target.coordinate}`;
  const { operation, part } = target;
  if (!part) return operation;
  const kind = {
    query: "query parameter",
    header: "header",
    request: "request field",
    response: "response field",
  };
  return `${operation}: ${kind[part.in]} ${part.name}`;
}

/** Returns the sentence for OpenAPI, the SDL and the feeds. */
export function describeDeprecation({ since, sunset, replacement }: Deprecation): string {
  return `Deprecated since ${since}, and removed on ${sunset}. ${replacement}`;
}

/**
 * Returns `Deprecation` (RFC 9745), `Sunset` (RFC 8594) and `Link` for a request that uses `used`: the earliest dates, and the
 * links of all.
 */
export function deprecationHeaders(
  used: readonly Deprecation[],
  pageUrl: (path: string) => string,
): Record<string, string> {
  const since = Math.min(...used.map((each) => secondsOf(each.since)));
  const sunset = Math.min(...used.map((each) => secondsOf(each.sunset)));
  const successors = used.flatMap(({ successor }) =>
    successor === undefined ? [] : [`<${pageUrl(successor)}>; rel="successor-version"`],
  );
  const guide = `<${pageUrl("/guide/versioning#deprecation")}>; rel="deprecation"; type="text/html"`;
  return {
    Deprecation: `@${since}`,
    Sunset: new Date(sunset * 1000).toUTCString(),
    Link: [guide, ...new Set(successors)].join(", "),
  };
}

function secondsOf(day: string): number {
  return Date.parse(`${day}T00:00:00Z`) / 1000;
}

/** Returns the start of the first day without it, in milliseconds since 1970. */
export function sunsetMsOf({ sunset }: Deprecation): number {
  return secondsOf(sunset) * 1000;
}

/** Returns the day in UTC, such as `2027-01-31`. */
export function dayOf(time: Date): string {
  return time.toISOString().slice(0, 10);
}
