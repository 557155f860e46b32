/** Code that the first rows of a page do not need, loaded after them, or once the user clicks. */
import {
  lazy,
  Suspense,
  useLayoutEffect,
  useRef,
  type ComponentProps,
  type ComponentType,
  type RefObject,
} from "react";
import classes from "./later.module.css";

const QUIET_MS = 100;

let inFlight = 0;
let isPageShown = false;
let open: () => void;
const gate = new Promise<void>((resolve) => (open = resolve));

/** Opens the gate unless another request follows, as the rows do after the statuses that filter them. */
function settle(): void {
  if (!isPageShown || inFlight > 0) return;
  setTimeout(() => {
    if (inFlight === 0) open();
  }, QUIET_MS);
}

/** Called when the code of the page has been loaded and has sent its requests. */
export function pageIsShown(): void {
  isPageShown = true;
  settle();
}

/** `fetch` for the data of pages. */
export const fetchRows: typeof fetch = async (...request) => {
  inFlight += 1;
  try {
    return await fetch(...request);
  } finally {
    inFlight -= 1;
    settle();
  }
};

/** A click in the capture phase, so that the code is on its way when the button's handler runs. */
const nextClick = (): Promise<unknown> =>
  new Promise((resolve) => document.addEventListener("click", resolve, { capture: true, once: true }));
const online = (): Promise<unknown> =>
  new Promise((resolve) => window.addEventListener("online", resolve, { once: true }));

/** Without a connection, tries again when it is back, or at the next click. */
async function loadLater<Module>(load: () => Promise<Module>): Promise<Module> {
  await Promise.race([gate, nextClick()]);
  for (;;) {
    try {
      return await load();
    } catch {
      await Promise.race([online(), nextClick()]);
    }
  }
}

/** Returns a component that shows nothing until `load` has returned it. */
export function later<Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  const Loaded = lazy<ComponentType<Props>>(async () => ({ default: await loadLater(load) }));
  return function Later(props) {
    return (
      <Suspense>
        <Loaded {...(props as ComponentProps<typeof Loaded>)} />
      </Suspense>
    );
  };
}

/** Returns a menu that shows only its `Button` until `load` has returned it. If that was pressed meanwhile, the menu opens then. */
export function menuLater<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
  Button: ComponentType<{ onClick: () => void; onMouseDown: () => void; "aria-haspopup": true }>,
): ComponentType<Props> {
  const Loaded = lazy<ComponentType<Props>>(async () => ({ default: await loadLater(load) }));
  return function MenuLater(props) {
    const box = useRef<HTMLSpanElement>(null);
    const takeOver = <TakeOver box={box} />;
    const press = (): void => box.current?.setAttribute("data-pressed", "");
    return (
      <span ref={box} className={classes.menu}>
        <Suspense
          fallback={
            <>
              {/* A button that is replaced between the press and the release gets no click. */}
              <Button aria-haspopup onMouseDown={press} onClick={press} />
              {takeOver}
            </>
          }
        >
          <Loaded {...(props as ComponentProps<typeof Loaded>)} />
          {takeOver}
        </Suspense>
      </span>
    );
  };
}

/** The button of the menu replaces the first one. It gets the focus and the click of that. */
function TakeOver({ box }: { box: RefObject<HTMLElement | null> }) {
  useLayoutEffect(() => {
    const element = box.current;
    const button = element?.querySelector("button");
    if (element?.hasAttribute("data-focused")) button?.focus();
    // Later, because the menu first has to know what has the focus.
    if (element?.hasAttribute("data-pressed")) setTimeout(() => button?.click());
    element?.removeAttribute("data-pressed");
    return () => {
      element?.toggleAttribute("data-focused", element.contains(document.activeElement));
    };
  }, [box]);
  return null;
}
