/** A user who counts steps: each click, filled field, pressed key and chosen file is one. */
import { readFile } from "node:fs/promises";
import type { Locator, Page } from "playwright-core";
import { expect } from "vitest";

export interface StepLimitedUser {
  click: (target: Locator) => Promise<void>;
  /** Typing into a field, or pasting. */
  fill: (field: Locator, text: string) => Promise<void>;
  press: (key: string) => Promise<void>;
  chooseFile: (input: Locator, name: string, content: string) => Promise<void>;
  /** Clicks, and returns the content of the file that the browser then saves. */
  download: (target: Locator) => Promise<Buffer>;
}

/** Returns a user whose step after `most` fails. */
export function limitSteps(page: Page, most: number): StepLimitedUser {
  let steps = 0;
  const step = async (action: () => Promise<unknown>): Promise<void> => {
    steps += 1;
    expect(steps, "steps of the task").toBeLessThanOrEqual(most);
    await action();
  };
  return {
    click: (target) => step(() => target.click()),
    fill: (field, text) => step(() => field.fill(text)),
    press: (key) => step(() => page.keyboard.press(key)),
    chooseFile: (input, name, content) =>
      step(() => input.setInputFiles({ name, mimeType: "text/csv", buffer: Buffer.from(content) })),
    async download(target) {
      const [file] = await Promise.all([page.waitForEvent("download"), step(() => target.click())]);
      return await readFile(await file.path());
    },
  };
}
