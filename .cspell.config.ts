/**
 * Words that this project does not use, in text or as a part of an identifier (docs/decisions/0052-flagged-words.md).
 * Spelling is not checked.
 */
import { defineConfig } from "cspell";

/** Each word with what to write in its place. */
const FLAGGED_WORDS: Readonly<Record<string, string>> = {
  afterwards: "then, later",
  anybody: "anyone, the user",
  asker: "principal",
  askers: "principals",
  mend: "fix",
  mended: "fixed",
  mends: "fixes",
  nobody: "none, no one",
  seer: "principal",
  seers: "principals",
  somebody: "someone, the user",
  stranger: "outsider, another organisation",
  strangers: "outsiders, other organisations",
  teller: "notifier",
  tellers: "notifiers",
  told: "notified, sent, said",
  turnstile: "semaphore",
  turnstiles: "semaphores",
  vigil: "monitor",
  vigils: "monitors",
  whatever: "any, all",
  whoever: "anyone who, the user",
  whomever: "anyone, the user",
  whosever: "whose",
};

const CHECKED_PATHS = [
  // Add a folder here once it has none of these words.
  "*.md",
  "bench/**",
  "clients/**",
  "deploy/**",
  "docs/**",
  "schema/**",
  "scripts/**",
  "src/**",
  "test/**",
];

const words = Object.keys(FLAGGED_WORDS);

export default defineConfig({
  files: CHECKED_PATHS,
  ignorePaths: [
    ".cspell.config.ts",
    "docs/releases/**",
    "src/*/generated/**",
    "src/migrations/**",
    "test/architecture/fixtures/**",
  ],
  useGitignore: true,
  flagWords: words.map((word) => `${word}->${FLAGGED_WORDS[word]}`),
  unknownWords: "report-flagged",
  // Only these words are looked at, and no dictionary is loaded: four times as fast.
  includeRegExpList: [new RegExp(`\\w*(?:${words.join("|")})\\w*`, "gi")],
  loadDefaultConfiguration: false,
  maxNumberOfProblems: 10_000,
  maxDuplicateProblems: 10_000,
});
