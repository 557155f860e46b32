/**
 * `npm run scan`: finds secrets in tracked and untracked files, with secretlint's preset and patterns for Waymark
 * keys and webhook secrets. The output does not contain the secrets.
 */
import { spawnSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { lintSource } from "@secretlint/core";
import { creator as preset } from "@secretlint/secretlint-rule-preset-recommend";
import { secretExceptions } from "./scan-secrets.exceptions.ts";

export interface FoundSecret {
  readonly file: string;
  readonly line: number;
  /** Type of the secret, such as `PrivateKey`. */
  readonly kind: string;
}

const ROOT = join(import.meta.dirname, "..");
const BINARY_EXTENSIONS = new Set([".png", ".tgz", ".whl", ".woff2"]);
const OWN_PATTERNS: readonly [kind: string, form: RegExp][] = [
  ["WaymarkKey", /wmk_[0-9a-z]{8}_[\w-]{43}[0-9A-Za-z]{6}/],
  ["WebhookSecret", /whsec_[\w+/-]{24,}/],
];

export async function findSecrets(file: string, text: string): Promise<FoundSecret[]> {
  const { messages } = await lintSource({
    source: { filePath: file, content: text, contentType: "text", ext: extname(file) },
    options: {
      config: { rules: [{ id: "preset", rule: preset }] },
      noPhysicFilePath: true,
      maskSecrets: true,
    },
  });
  const known = messages.map(({ loc, messageId }) => ({ file, line: loc.start.line, kind: messageId }));
  const own = text
    .split("\n")
    .flatMap((line, index) =>
      OWN_PATTERNS.filter(([, form]) => form.test(line)).map(([kind]) => ({ file, line: index + 1, kind })),
    );
  return [...known, ...own];
}

/** Returns the secrets without an exception, and the exceptions that match nothing. */
export function applyExceptions(found: readonly FoundSecret[]): { left: FoundSecret[]; unused: string[] } {
  const used = new Set<string>();
  const left = found.filter(({ file, kind }) => {
    const isExcepted = secretExceptions.some(
      (exception) => exception.file === file && exception.kind === kind,
    );
    if (isExcepted) used.add(`${file} ${kind}`);
    return !isExcepted;
  });
  const names = secretExceptions.map(({ file, kind }) => `${file} ${kind}`);
  return { left, unused: names.filter((name) => !used.has(name)) };
}

async function scanFiles(names: readonly string[]): Promise<FoundSecret[]> {
  const texts = names.filter((name) => name !== "" && !BINARY_EXTENSIONS.has(extname(name)));
  const found: FoundSecret[] = [];
  for (const file of texts) {
    // A tracked file may have been deleted without a commit.
    const text = await readFile(join(ROOT, file), "utf8").catch(() => "");
    found.push(...(await findSecrets(file, text)));
  }
  return found;
}

/** Returns tracked and untracked files; null if this folder is not a git clone. */
function listTrackedFiles(): string[] | null {
  const options = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  const { status, stdout } = spawnSync("git", options, { cwd: ROOT, encoding: "utf8", maxBuffer: 2 ** 26 });
  return status === 0 ? stdout.split("\0") : null;
}

async function main(): Promise<number> {
  const names = listTrackedFiles();
  if (names === null) {
    console.error("Secrets were NOT scanned: this folder is not a git clone, so its files cannot be listed.");
    return 0;
  }
  const { left, unused } = applyExceptions(await scanFiles(names));
  for (const { file, line, kind } of left) console.error(`${file}:${line} looks like a secret (${kind}).`);
  for (const name of unused)
    console.error(
      `scripts/scan-secrets.exceptions.ts contains an exception that matches nothing; remove it: ${name}`,
    );
  if (left.length > 0)
    console.error(
      "Remove the secret from the repository and replace it wherever it is used, because it has been exposed.",
    );
  return left.length + unused.length > 0 ? 1 : 0;
}

if (import.meta.main) process.exitCode = await main();
