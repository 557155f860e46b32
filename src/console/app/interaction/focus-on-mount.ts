/** As a `ref`: moves the focus to what has just taken the place of what had it. */
export function focusOnMount(element: HTMLElement | null): void {
  element?.focus();
}
