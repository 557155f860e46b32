/**
 * The colour scales. A test checks that each pair of text and background that the theme uses has a contrast of at
 * least 4.5:1.
 */
import type { MantineColorsTuple } from "@mantine/core";

/** Ten shades, lightest first. */
type Shades = [string, string, string, string, string, string, string, string, string, string];

/** Deep green, for controls and selected items. */
const spruce: Shades = [
  "#eef8f6",
  "#d6eeea",
  "#aedcd5",
  "#82c7bd",
  "#5bb3a8",
  "#35948a",
  "#1f7c73",
  "#14665f",
  "#0e524d",
  "#0a3f3b",
];

/** For accents, and for statuses that need attention. */
const amber: Shades = [
  "#fdf6e7",
  "#faeaca",
  "#f5d493",
  "#f2c066",
  "#eaad3f",
  "#c98a1b",
  "#a26a0c",
  "#835406",
  "#684205",
  "#4b3005",
];

/** Greys with a slight green tint. */
const gray: Shades = [
  "#f6f9f8",
  "#edf2f0",
  "#dfe6e4",
  "#cbd5d2",
  "#869591",
  "#74837f",
  "#5a6864",
  "#44504d",
  "#2b3634",
  "#18211f",
];

/** The greys of the dark scheme: Mantine uses the first shades for text and the last for backgrounds. */
const dark: Shades = [
  "#dfe7e5",
  "#bac6c3",
  "#97a6a2",
  "#7d8c87",
  "#3b4b47",
  "#2b3936",
  "#1a2523",
  "#121b19",
  "#0d1412",
  "#080d0c",
];

const red: Shades = [
  "#fdf1ef",
  "#fadfdb",
  "#f4bcb4",
  "#ed958a",
  "#e57366",
  "#d55142",
  "#bd3a2c",
  "#9f2d21",
  "#80241b",
  "#601b15",
];

const blue: Shades = [
  "#eff5fb",
  "#dae8f6",
  "#b3d0ed",
  "#87b4e1",
  "#5f9ad4",
  "#3d7fc0",
  "#2a67a5",
  "#215488",
  "#1b446e",
  "#143352",
];

const violet: Shades = [
  "#f5f2fb",
  "#e8e1f6",
  "#d0c2ec",
  "#b5a0e0",
  "#9b80d2",
  "#8063bd",
  "#694da3",
  "#563e87",
  "#45326c",
  "#332550",
];

export const colors = { spruce, amber, gray, dark, red, blue, violet } satisfies Record<
  string,
  MantineColorsTuple
>;
