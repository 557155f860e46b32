/** Contrast of the console's colours by WCAG 2.2: at least 4.5:1 for text and 3:1 for controls, in light and dark. */
import { describe, expect, it } from "vitest";
import { colors } from "../../../src/console/theme/colors.ts";

const { spruce, amber, gray, dark, red, blue, violet } = colors;
const white = "#ffffff";
const hues = { spruce, amber, red, blue, violet };

/** Relative luminance, as WCAG defines it. */
function luminance(color: string): number {
  const [r, g, b] = [1, 3, 5].map((start) => {
    const channel = Number.parseInt(color.slice(start, start + 2), 16) / 255;
    return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
}

function contrast(front: string, ground: string): number {
  const [darker, lighter] = [luminance(front), luminance(ground)].toSorted((a, b) => a - b);
  return (lighter! + 0.05) / (darker! + 0.05);
}

/** `over` with opacity `share` on `ground`. */
function mixed(over: string, ground: string, share: number): string {
  const channel = (start: number): string => {
    const [top, below] = [over, ground].map((color) => Number.parseInt(color.slice(start, start + 2), 16));
    return Math.round(top! * share + below! * (1 - share))
      .toString(16)
      .padStart(2, "0");
  };
  return `#${channel(1)}${channel(3)}${channel(5)}`;
}

type Pair = [what: string, front: string, ground: string];

const grounds = {
  light: { page: gray[0], surface: white, sunken: gray[1] },
  dark: { page: dark[8], surface: dark[7], sunken: dark[6] },
};

const texts: Pair[] = [
  ["the band of test mode", white, violet[7]],
  ["the band of test mode in dark mode", white, violet[6]],
  ...Object.entries(grounds.light).flatMap(([name, ground]): Pair[] => [
    [`text on ${name}`, gray[9], ground],
    [`dimmed text on ${name}`, gray[6], ground],
    [`a link on ${name}`, spruce[7], ground],
    [`an error on ${name}`, red[6], ground],
  ]),
  ...Object.entries(grounds.dark).flatMap(([name, ground]): Pair[] => [
    [`text on ${name} in dark mode`, dark[0], ground],
    [`dimmed text on ${name} in dark mode`, dark[2], ground],
    [`a link on ${name} in dark mode`, spruce[3], ground],
    [`an error on ${name} in dark mode`, red[3], ground],
  ]),
  ...Object.entries(hues).flatMap(([name, hue]): Pair[] => [
    [`a ${name} button`, white, hue[7]],
    [`a ${name} button on hover`, white, hue[8]],
    [`a ${name} button in dark mode`, white, hue[6]],
    [`a ${name} button on hover in dark mode`, white, hue[7]],
    [`a light ${name} button`, hue[9], hue[1]],
    [`a light ${name} button in dark mode`, hue[1], hue[9]],
    [`a light ${name} button on hover in dark mode`, hue[1], hue[8]],
    [`a ${name} badge`, hue[8], hue[0]],
    [`a ${name} badge in dark mode`, hue[2], mixed(hue[6], dark[6], 0.26)],
  ]),
  ["a neutral badge", gray[8], gray[1]],
  ["a muted badge", gray[6], gray[1]],
  ["a neutral badge in dark mode", dark[0], dark[5]],
  ["a muted badge in dark mode", dark[2], dark[5]],
  ["the offline banner", gray[9], amber[2]],
];

const shapes: Pair[] = [
  ["an input border", gray[4], white],
  ["an input border in dark mode", dark[3], dark[6]],
  ["the focus ring", spruce[6], gray[1]],
  ["the focus ring in dark mode", spruce[4], dark[6]],
];

describe("the console's colours", () => {
  it.each(texts)("are readable: %s", (_what, front, ground) => {
    expect(contrast(front, ground)).toBeGreaterThanOrEqual(4.5);
  });

  it.each(shapes)("are distinguishable: %s", (_what, front, ground) => {
    expect(contrast(front, ground)).toBeGreaterThanOrEqual(3);
  });
});
