/** One chunk, because both are small. */
export { KeysDialog } from "./keys.dialog.tsx";
export { Palette } from "./palette.tsx";
