/** Operates a page with the mouse, or with the keyboard only. */
import type { Locator, Page } from "playwright-core";
import { expect } from "vitest";

export interface PageUser {
  /** Activates a button or a link. */
  activate: (target: Locator) => Promise<void>;
  fill: (field: Locator, text: string) => Promise<void>;
  /** Selects a radio button. */
  check: (radio: Locator) => Promise<void>;
  /** Selects an option of a searchable select. */
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

/** Reaches each control by Tab, and expects that it looks different with focus. */
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
      expect(await radio.isChecked(), "arrow keys reach the option").toBe(true);
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
/** Each question to the page takes a moment, so that several presses follow one another. */
const TABS_AT_ONCE = 8;
const MAX_OPTIONS = 20;

async function tabTo(page: Page, target: Locator): Promise<void> {
  await target.waitFor();
  const before = await unfocusedAppearance(page, target);
  for (let stop = 0; stop < MAX_TAB_STOPS && !(await readFocusState(target)).hasFocus; stop += TABS_AT_ONCE) {
    await target.evaluate(keepFocus, true);
    await Promise.all(Array.from({ length: TABS_AT_ONCE }, () => page.keyboard.press("Tab")));
  }
  await target.evaluate(keepFocus, false);
  expect((await readFocusState(target)).hasFocus, `Tab reaches ${String(target)}`).toBe(true);
  await expect
    .poll(async () => (await readFocusState(target)).appearance, {
      message: `${String(target)} has a visible focus style`,
    })
    .not.toBe(before);
}

/** Turns on or off that the element keeps the focus once it has it, and ignores Tab. */
function keepFocus(node: unknown, isOn: boolean): void {
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- Replaces the one of an earlier call.
  (node as PageElement).onkeydown = !isOn
    ? null
    : (event) => {
        if (event.key !== "Tab") return;
        event.preventDefault();
        event.stopImmediatePropagation();
      };
}

/** Tabs away first, because an opening dialog focuses its first field, and again a moment later. */
async function unfocusedAppearance(page: Page, target: Locator): Promise<string> {
  for (let stop = 0; stop < MAX_TAB_STOPS; stop += 1) {
    const { hasFocus, appearance } = await readFocusState(target);
    if (!hasFocus) return appearance;
    await page.keyboard.press("Tab");
  }
  throw new Error(`Tab does not move the focus from ${String(target)}`);
}

/** The parts of a DOM element that are used here. */
interface PageElement {
  onkeydown:
    | ((event: { key: string; preventDefault(): void; stopImmediatePropagation(): void }) => void)
    | null;
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
  /** Styles that focus can change, of the element, its parent and its next sibling. */
  appearance: string;
}

function readFocusState(target: Locator): Promise<FocusState> {
  return target.evaluate(async (node: unknown) => {
    const element = node as PageElement;
    const { ownerDocument } = element;
    const parts = [element, element.parentElement, element.nextElementSibling].filter(
      (each) => each !== null,
    );
    // Focus styles fade out for a moment.
    await Promise.allSettled(parts.flatMap((each) => each.getAnimations()).map(({ finished }) => finished));
    const appearance = parts.map((each) => {
      const { outline, boxShadow, borderColor, backgroundColor } =
        ownerDocument.defaultView.getComputedStyle(each);
      return [outline, boxShadow, borderColor, backgroundColor].join(" / ");
    });
    return { hasFocus: element === ownerDocument.activeElement, appearance: appearance.join("; ") };
  });
}
