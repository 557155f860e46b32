/** Single keys, such as j and k. A user can turn them off (WCAG 2.1.4). */
import { useEffect, useRef, useSyncExternalStore } from "react";
import { readItem, writeItem } from "../storage.ts";

export type SingleKey = "j" | "k" | "x" | "/" | "?";

/** `aria-keyshortcuts` of the search field of a page. */
export const SEARCH_KEY = "/" satisfies SingleKey;

const STORAGE_KEY = "waymark-single-keys";
const listeners = new Set<() => void>();
let areOn = readItem("localStorage", STORAGE_KEY) !== "off";

export function turnSingleKeys(on: boolean): void {
  areOn = on;
  writeItem("localStorage", STORAGE_KEY, on ? "on" : "off");
  for (const listener of listeners) listener();
}

export function useSingleKeysOn(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => areOn,
  );
}

/** Each handler returns false if it has nothing to do, so that another one can act on the key. */
export function useKeys(handlers: Readonly<Partial<Record<SingleKey, () => boolean>>>): void {
  useKeyDown((event) => {
    if (!areOn || hasModifier(event) || isTyping(event) || isLayerOpen()) return false;
    return Object.hasOwn(handlers, event.key) && handlers[event.key as SingleKey]?.() === true;
  });
}

const isApple = /mac|iphone|ipad/i.test(navigator.userAgent);
/** The keys that open the palette, with their names on the user's keyboard. */
export const PALETTE_KEYS = isApple ? (["⌘", "K"] as const) : (["Ctrl", "K"] as const);

/** They also act while the user types. Over another dialog they do nothing. */
export function usePaletteKey(isOpen: boolean, onToggle: () => void): void {
  useKeyDown(({ key, ctrlKey, metaKey, altKey, shiftKey }) => {
    if (key.toLowerCase() !== "k" || altKey || shiftKey || !(isApple ? metaKey : ctrlKey)) return false;
    if (isOpen || !isLayerOpen()) onToggle();
    return true;
  });
}

/** Focuses the search field of the page's list. Returns false if the page has none. */
export function focusSearchField(): boolean {
  const field = document.querySelector<HTMLInputElement>(`main input[aria-keyshortcuts="${SEARCH_KEY}"]`);
  field?.focus();
  field?.select();
  return field !== null;
}

function useKeyDown(handle: (event: KeyboardEvent) => boolean): void {
  const latest = useRef(handle);
  useEffect(() => {
    latest.current = handle;
  });
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      if (!event.defaultPrevented && !event.isComposing && latest.current(event)) event.preventDefault();
    };
    window.addEventListener("keydown", onKeyDown);
    return () => window.removeEventListener("keydown", onKeyDown);
  }, []);
}

/** Some keyboards need Shift for / and ?. */
function hasModifier({ ctrlKey, metaKey, altKey }: KeyboardEvent): boolean {
  return ctrlKey || metaKey || altKey;
}

function isTyping({ target }: KeyboardEvent): boolean {
  return (
    target instanceof Element &&
    target.closest(
      "input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable=true], [role=textbox]",
    ) !== null
  );
}

/** A dialog, a drawer, or a menu. */
function isLayerOpen(): boolean {
  const layers = document.querySelectorAll(
    "[role=dialog], [role=alertdialog], dialog[open], [role=menu], [role=listbox]",
  );
  return [...layers].some((layer) => layer.checkVisibility());
}
