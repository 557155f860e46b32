/** A real Chromium: the one that comes as a package on Linux x64, or the Chrome that is installed. */
import packaged from "@sparticuz/chromium";
import { chromium, type Browser } from "playwright-core";

/** Of the flags that the package recommends none: they run everything in one process, which dies with a page. */
const ARGS = ["--no-sandbox", "--disable-gpu"];

interface Candidate {
  name: string;
  /** What Playwright is told about it. */
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

/** `CHROME_PATH` names one, and then nothing is taken in its place. */
function candidates(): readonly Candidate[] {
  const path = process.env["CHROME_PATH"];
  if (path !== undefined && path !== "")
    return [{ name: `CHROME_PATH=${path}`, launchOptions: async () => ({ executablePath: path }) }];
  const hasPackage = process.platform === "linux" && process.arch === "x64";
  return hasPackage ? [packagedChromium, installedChrome] : [installedChrome];
}

/** The first that starts. */
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
    "The tests in a browser need Chromium or Chrome. Install Google Chrome, or name one by CHROME_PATH.";
  throw new Error([advice, ...failures].join("\n\n"));
}
