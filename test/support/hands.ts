/** Somebody who uses a page: with a mouse, or by the keyboard alone. */
import type { Locator, Page } from "playwright-core";
import { expect } from "vitest";

export interface Hands {
  /** A button or a link. */
  press: (target: Locator) => Promise<void>;
  write: (field: Locator, text: string) => Promise<void>;
  /** One of a group of radio buttons. */
  pick: (radio: Locator) => Promise<void>;
  /** An option of a menu that can be searched. */
  choose: (field: Locator, option: string) => Promise<void>;
}

export function mouse(page: Page): Hands {
  return {
    press: (target) => target.click(),
    write: (field, text) => field.fill(text),
    pick: (radio) => radio.check(),
    async choose(field, option) {
      await field.click();
      await page.getByRole("option", { name: option, exact: true }).click();
    },
  };
}

/** Each control is reached by Tab, and must look different once it has the focus. */
export function keyboard(page: Page): Hands {
  const { keyboard: keys } = page;
  const reach = (target: Locator): Promise<void> => reachByTab(page, target);
  return {
    async press(target) {
      await reach(target);
      await keys.press("Enter");
    },
    async write(field, text) {
      await reach(field);
      await keys.press("ControlOrMeta+A");
      await keys.insertText(text);
    },
    async pick(radio) {
      const name = (await radio.getAttribute("name")) ?? "";
      await reach(page.locator(`input[type=radio][name="${name}"]:checked`));
      for (let step = 0; step < MOST_OPTIONS && !(await radio.isChecked()); step += 1)
        await keys.press("ArrowDown");
      expect(await radio.isChecked(), "an arrow key leads to the option").toBe(true);
    },
    async choose(field, option) {
      await reach(field);
      await keys.press("ControlOrMeta+A");
      await keys.insertText(option);
      await page.getByRole("option", { name: option, exact: true }).waitFor();
      await keys.press("ArrowDown");
      await keys.press("Enter");
    },
  };
}

const MOST_STOPS = 120;
const MOST_OPTIONS = 20;

async function reachByTab(page: Page, target: Locator): Promise<void> {
  await target.waitFor();
  const before = await lookWithoutFocus(page, target);
  for (let stop = 0; stop < MOST_STOPS && !(await lookAt(target)).hasFocus; stop += 1)
    await page.keyboard.press("Tab");
  expect((await lookAt(target)).hasFocus, `Tab leads to ${String(target)}`).toBe(true);
  await expect
    .poll(async () => (await lookAt(target)).looks, {
      message: `one sees that ${String(target)} has the focus`,
    })
    .not.toBe(before);
}

/** To compare with. A dialog that opens gives its first field the focus, and once more a moment later. */
async function lookWithoutFocus(page: Page, target: Locator): Promise<string> {
  for (let stop = 0; stop < MOST_STOPS; stop += 1) {
    const { hasFocus, looks } = await lookAt(target);
    if (!hasFocus) return looks;
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

interface Look {
  hasFocus: boolean;
  /** Whatever a focus may change about the element, its frame and what is drawn beside it. */
  looks: string;
}

function lookAt(target: Locator): Promise<Look> {
  return target.evaluate(async (one: unknown) => {
    const element = one as PageElement;
    const { ownerDocument } = element;
    const parts = [element, element.parentElement, element.nextElementSibling].filter(
      (each) => each !== null,
    );
    // A field that has just lost the focus still looks for a moment as if it had it.
    await Promise.allSettled(parts.flatMap((each) => each.getAnimations()).map(({ finished }) => finished));
    const looks = parts.map((each) => {
      const { outline, boxShadow, borderColor, backgroundColor } =
        ownerDocument.defaultView.getComputedStyle(each);
      return [outline, boxShadow, borderColor, backgroundColor].join(" / ");
    });
    return { hasFocus: element === ownerDocument.activeElement, looks: looks.join("; ") };
  });
}
