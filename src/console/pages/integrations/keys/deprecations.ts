/** What is deprecated and still used by active keys. */
import { isInactive } from "../../../app/created-keys.ts";
import type { DeprecationRowFragment } from "../../../generated/deprecations.ts";

/** Leaves out keys that ended while the page was open, and what no key uses any more. */
export function stillUsed(
  deprecations: readonly DeprecationRowFragment[],
  nowMs: number,
): DeprecationRowFragment[] {
  return deprecations
    .map((deprecation) => ({
      ...deprecation,
      uses: deprecation.uses.filter(({ apiKey }) => !isInactive(apiKey, nowMs)),
    }))
    .filter(({ uses }) => uses.length > 0);
}

/** Formats a number of deprecations as the subject of a sentence about their use. */
export function describeUse(count: number): string {
  return count === 1
    ? "API keys use something that will be removed"
    : `API keys use ${count} things that will be removed`;
}
