/** Starts a real browser: the packaged Chromium on Linux x64, otherwise an installed Chrome. */
import packaged from "@sparticuz/chromium";
import { chromium, type Browser } from "playwright-core";

/**
 * The package's recommended flags are not used: they run all pages in one process, which crashes with any page.
 * `--process-per-site` makes the pages of a context share a process.
 */
const ARGS = ["--no-sandbox", "--disable-gpu", "--process-per-site"];

interface Candidate {
  name: string;
  /** Options for Playwright's `launch`. */
  launchOptions: () => Promise<{ executablePath: string } | { channel: "chrome" }>;
}

const packagedChromium: Candidate = {
  name: "@sparticuz/chromium",
  launchOptions: async () => ({ executablePath: await packaged.executablePath() }),
};
const installedChrome: Candidate = {
  name: "an installed Google Chrome",
  launchOptions: async () => ({ channel: "chrome" }),
};

/** If `CHROME_PATH` is set, it is the only candidate. */
function candidates(): readonly Candidate[] {
  const path = process.env["CHROME_PATH"];
  if (path !== undefined && path !== "")
    return [{ name: `CHROME_PATH=${path}`, launchOptions: async () => ({ executablePath: path }) }];
  const hasPackage = process.platform === "linux" && process.arch === "x64";
  return hasPackage ? [packagedChromium, installedChrome] : [installedChrome];
}

/** Returns the first candidate that starts. Throws with the reasons if none does. */
export async function launchChromium(): Promise<Browser> {
  const failures: string[] = [];
  for (const { name, launchOptions } of candidates()) {
    try {
      return await chromium.launch({ args: ARGS, ...(await launchOptions()) });
    } catch (error) {
      failures.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  const advice =
    "Browser tests need Chromium or Chrome. Install Google Chrome, or set CHROME_PATH to an executable.";
  throw new Error([advice, ...failures].join("\n\n"));
}
