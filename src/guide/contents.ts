/** The pages of the guide, in reading order. Each file is relative to `docs/`. */
export interface Section {
  title: string;
  files: readonly string[];
  /** Files that the build writes itself, after `files`. They are not in the repository. */
  generated?: readonly string[];
}

/** The page with all samples of GraphQL. */
export const EXAMPLES_FILE = "guide/graphql/examples.md";

export const CHANGELOG_FILE = "guide/changelog.md";

/** The pages of the GraphQL reference, one for each kind of definition. */
export const referenceFiles = {
  queries: "guide/graphql/reference/queries.md",
  mutations: "guide/graphql/reference/mutations.md",
  subscriptions: "guide/graphql/reference/subscriptions.md",
  objects: "guide/graphql/reference/objects.md",
  inputs: "guide/graphql/reference/inputs.md",
  enums: "guide/graphql/reference/enums.md",
  interfaces: "guide/graphql/reference/interfaces.md",
  scalars: "guide/graphql/reference/scalars.md",
} as const;

export const sections: readonly Section[] = [
  {
    title: "Start",
    files: [
      "guide/index.md",
      "guide/quickstart.md",
      "guide/authentication.md",
      "guide/api-keys.md",
      "guide/test-mode.md",
      "guide/console.md",
      "guide/single-sign-on.md",
    ],
  },
  {
    title: "Jobs",
    files: ["guide/jobs.md", "guide/lookup.md", "guide/stats.md", "guide/updating.md", "guide/mirror.md"],
  },
  {
    title: "Webhooks",
    files: [
      "guide/webhooks/quickstart.md",
      "guide/webhooks/endpoints.md",
      "guide/webhooks/events.md",
      "guide/webhooks/verify.md",
      "guide/webhooks/deliveries.md",
      "guide/webhooks/reliability.md",
      "guide/webhooks/troubleshooting.md",
    ],
  },
  {
    title: "GraphQL",
    files: [
      "guide/graphql/overview.md",
      "guide/graphql/queries.md",
      "guide/graphql/mutations.md",
      "guide/graphql/subscriptions.md",
    ],
    generated: [EXAMPLES_FILE],
  },
  {
    title: "GraphQL reference",
    files: [],
    generated: Object.values(referenceFiles),
  },
  {
    title: "Reference",
    files: [
      "guide/errors.md",
      "guide/requests.md",
      "guide/limits.md",
      "guide/contract.md",
      "guide/contract-text.md",
      "guide/versioning.md",
      "guide/clients.md",
      "guide/glossary.md",
    ],
    generated: [CHANGELOG_FILE],
  },
  {
    title: "Operate",
    files: [
      "operate/install.md",
      "operate/settings.md",
      "operate/console.md",
      "operate/monitoring.md",
      "operate/scaling.md",
      "operate/upgrade.md",
      "operate/backup.md",
      "operate/security.md",
      "operate/runbooks.md",
    ],
  },
];

/** Path below `/guide/` of a file: `guide/jobs.md` is `jobs`, `operate/install.md` is `operate/install`. The index is "". */
export function pathOfFile(file: string): string {
  return file
    .replace(/\.md$/, "")
    .replace(/^guide\//, "")
    .replace(/^index$/, "");
}

/** Returns the id that GitHub gives to a heading, so that links work in the repository too. */
export function slugify(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(/\s/g, "-");
}
