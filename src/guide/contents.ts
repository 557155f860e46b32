/** The pages of the guide, in reading order. Each file is relative to `docs/`. */
export interface Section {
  title: string;
  files: readonly string[];
}

export const sections: readonly Section[] = [
  {
    title: "Start",
    files: ["guide/index.md", "guide/quickstart.md", "guide/authentication.md", "guide/console.md"],
  },
  {
    title: "Jobs",
    files: ["guide/jobs.md", "guide/updating.md", "guide/mirror.md"],
  },
  {
    title: "Webhooks",
    files: [
      "guide/webhooks/quickstart.md",
      "guide/webhooks/events.md",
      "guide/webhooks/verify.md",
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
  },
  {
    title: "Reference",
    files: [
      "guide/errors.md",
      "guide/limits.md",
      "guide/contract.md",
      "guide/contract-text.md",
      "guide/versioning.md",
      "guide/clients.md",
      "guide/glossary.md",
    ],
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
