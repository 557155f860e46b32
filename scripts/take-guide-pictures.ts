/** `npx node scripts/take-guide-pictures.ts`: pictures of six pages of the guide on a desktop and a phone, light and dark. */
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser } from "playwright-core";
import { buildIfStale } from "../src/build.ts";
import { launchChromium } from "../test/support/browser/chromium.ts";
import { startDemo } from "./screenshots.demo.ts";

const OUTPUT_FOLDER = fileURLToPath(new URL("../docs/engineering/guide-pictures", import.meta.url));
const PAGES = ["index", "quickstart", "webhooks/verify", "errors", "graphql/examples", "operate/settings"];
const SCHEMES = ["light", "dark"] as const;
const DESKTOP = { width: 1280, height: 900 };
const PHONE = { width: 360, height: 900 };
const GAP = 16;

/** Puts the four pictures of a page side by side, so that one look compares them. */
async function takePage(browser: Browser, baseUrl: string, path: string): Promise<void> {
  const pictures: Buffer[] = [];
  for (const viewport of [DESKTOP, PHONE]) {
    for (const colorScheme of SCHEMES) {
      const page = await browser.newPage({ viewport, colorScheme, reducedMotion: "reduce" });
      await page.goto(`${baseUrl}/guide/${path === "index" ? "" : path}`, { waitUntil: "networkidle" });
      pictures.push(await page.screenshot());
      await page.close();
    }
  }
  const images = pictures.map((png) => `<img src="data:image/png;base64,${png.toString("base64")}">`);
  const width = 2 * (DESKTOP.width + PHONE.width) + 3 * GAP;
  const sheet = await browser.newPage({ viewport: { width, height: DESKTOP.height } });
  await sheet.setContent(
    `<body style="margin:0;display:flex;gap:${GAP}px;background:gray">${images.join("")}</body>`,
  );
  const name = `${path.replaceAll("/", "-")}.png`;
  await sheet.screenshot({ path: join(OUTPUT_FOLDER, name) });
  await sheet.close();
  console.log(name);
}

await buildIfStale();
await using opened = new AsyncDisposableStack();
const folder = await mkdtemp(join(tmpdir(), "waymark-guide-pictures-"));
opened.defer(() => rm(folder, { recursive: true, force: true }));
const demo = opened.use(await startDemo(folder));
const browser = opened.adopt(await launchChromium(), (one) => one.close());
await rm(OUTPUT_FOLDER, { recursive: true, force: true });
await mkdir(OUTPUT_FOLDER, { recursive: true });
for (const path of PAGES) await takePage(browser, demo.url, path);
