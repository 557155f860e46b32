/** Somebody who uses a page: with a mouse, or by the keyboard alone. */
import type { Locator, Page } from "playwright-core";
import { expect } from "vitest";

export interface PageUser {
  /** A button or a link. */
  activate: (target: Locator) => Promise<void>;
  fill: (field: Locator, text: string) => Promise<void>;
  /** One of a group of radio buttons. */
  check: (radio: Locator) => Promise<void>;
  /** An option of a menu that can be searched. */
  selectOption: (field: Locator, option: string) => Promise<void>;
}

export function createMouseUser(page: Page): PageUser {
  return {
    activate: (target) => target.click(),
    fill: (field, text) => field.fill(text),
    check: (radio) => radio.check(),
    async selectOption(field, option) {
      await field.click();
      await page.getByRole("option", { name: option, exact: true }).click();
    },
  };
}

/** Each control is reached by Tab, and must look different once it has the focus. */
export function createKeyboardUser(page: Page): PageUser {
  const { keyboard: keys } = page;
  const focus = (target: Locator): Promise<void> => tabTo(page, target);
  return {
    async activate(target) {
      await focus(target);
      await keys.press("Enter");
    },
    async fill(field, text) {
      await focus(field);
      await keys.press("ControlOrMeta+A");
      await keys.insertText(text);
    },
    async check(radio) {
      const name = (await radio.getAttribute("name")) ?? "";
      await focus(page.locator(`input[type=radio][name="${name}"]:checked`));
      for (let step = 0; step < MAX_OPTIONS && !(await radio.isChecked()); step += 1)
        await keys.press("ArrowDown");
      expect(await radio.isChecked(), "an arrow key leads to the option").toBe(true);
    },
    async selectOption(field, option) {
      await focus(field);
      await keys.press("ControlOrMeta+A");
      await keys.insertText(option);
      await page.getByRole("option", { name: option, exact: true }).waitFor();
      await keys.press("ArrowDown");
      await keys.press("Enter");
    },
  };
}

const MAX_TAB_STOPS = 120;
const MAX_OPTIONS = 20;

async function tabTo(page: Page, target: Locator): Promise<void> {
  await target.waitFor();
  const before = await unfocusedAppearance(page, target);
  for (let stop = 0; stop < MAX_TAB_STOPS && !(await readFocusState(target)).hasFocus; stop += 1)
    await page.keyboard.press("Tab");
  expect((await readFocusState(target)).hasFocus, `Tab leads to ${String(target)}`).toBe(true);
  await expect
    .poll(async () => (await readFocusState(target)).appearance, {
      message: `one sees that ${String(target)} has the focus`,
    })
    .not.toBe(before);
}

/** To compare with. A dialog that opens gives its first field the focus, and once more a moment later. */
async function unfocusedAppearance(page: Page, target: Locator): Promise<string> {
  for (let stop = 0; stop < MAX_TAB_STOPS; stop += 1) {
    const { hasFocus, appearance } = await readFocusState(target);
    if (!hasFocus) return appearance;
    await page.keyboard.press("Tab");
  }
  throw new Error(`Tab does not lead away from ${String(target)}`);
}

/** What is used here of an element in the page. */
interface PageElement {
  getAnimations(): { finished: Promise<unknown> }[];
  parentElement: PageElement | null;
  nextElementSibling: PageElement | null;
  ownerDocument: {
    activeElement: unknown;
    defaultView: { getComputedStyle(element: PageElement): Record<string, string> };
  };
}

interface FocusState {
  hasFocus: boolean;
  /** Whatever a focus may change about the element, its frame and what is drawn beside it. */
  appearance: string;
}

function readFocusState(target: Locator): Promise<FocusState> {
  return target.evaluate(async (one: unknown) => {
    const element = one as PageElement;
    const { ownerDocument } = element;
    const parts = [element, element.parentElement, element.nextElementSibling].filter(
      (each) => each !== null,
    );
    // A field that has just lost the focus still looks for a moment as if it had it.
    await Promise.allSettled(parts.flatMap((each) => each.getAnimations()).map(({ finished }) => finished));
    const appearance = parts.map((each) => {
      const { outline, boxShadow, borderColor, backgroundColor } =
        ownerDocument.defaultView.getComputedStyle(each);
      return [outline, boxShadow, borderColor, backgroundColor].join(" / ");
    });
    return { hasFocus: element === ownerDocument.activeElement, appearance: appearance.join("; ") };
  });
}
