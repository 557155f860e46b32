/** Values in the browser's storage. Without access to it, nothing is stored. */

type Storage = "localStorage" | "sessionStorage";

export function readItem(storage: Storage, key: string): string | null {
  try {
    return window[storage].getItem(key);
  } catch {
    return null;
  }
}

export function writeItem(storage: Storage, key: string, value: string): void {
  try {
    window[storage].setItem(key, value);
  } catch {
    // It is full or not allowed.
  }
}
