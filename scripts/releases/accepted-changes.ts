/** Changes that the rules of `json-schema-changes.ts` call breaking, and that the promise of docs/guide/versioning.md allows. */

/** Each with its reason. A change must match the whole pattern. */
export const acceptedChanges: readonly { readonly pattern: RegExp; readonly reason: string }[] = [
  {
    pattern:
      /(?:GET \/events: 200\.data\.items\[\]|webhook job\.\w+: body)\.data\.job\.\w+ may now be absent/,
    reason:
      "Only in events of the new types job.unassigned and job.deleted. Clients ignore event types that they don't know (decision 0081).",
  },
];
