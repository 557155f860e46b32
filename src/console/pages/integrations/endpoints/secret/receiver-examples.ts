/** The receivers of the guide's page on verification, which tests run, for the path of an endpoint. */

export interface ReceiverExample {
  /** Language of the code block. */
  id: string;
  label: string;
  code: string;
}

const LABELS: Readonly<Record<string, string>> = {
  ts: "TypeScript",
  python: "Python",
  go: "Go",
  java: "Java",
  php: "PHP",
  csharp: "C#",
};

/** Paths that mean the same in a string of each language, and to each HTTP server. */
const PLAIN_PATH = /^[\w./~-]+$/;

/**
 * Returns the complete receivers of `page`, which is the Markdown of `docs/guide/webhooks/verify.md`. They listen at the path of
 * the endpoint's `url`, or at `/webhooks` if the path has special characters.
 */
export function receiverExamples(page: string, url: string): ReceiverExample[] {
  const [, section = ""] = page.split(/^## (?:Complete receivers|With a library)$/m);
  const path = URL.canParse(url) ? new URL(url).pathname : "";
  return [...section.matchAll(/^```(\w+)\n([^]*?)^```$/gm)].map(([, id = "", code = ""]) => ({
    id,
    label: LABELS[id] ?? id,
    code: PLAIN_PATH.test(path) ? code.replace(/(["'])\/webhooks\1/, `$1${path}$1`) : code,
  }));
}
