/** Contrast of the console's colours by WCAG 2.2: 4.5 to 1 for text, 3 to 1 for outlines, in both colour schemes. */
import { describe, expect, it } from "vitest";
import { colors } from "../../../src/console/theme/colors.ts";

const { spruce, amber, gray, dark, red, blue, violet } = colors;
const white = "#ffffff";
const hues = { spruce, amber, red, blue, violet };

/** Relative luminance, as WCAG defines it. */
function luminance(color: string): number {
  const [r, g, b] = [1, 3, 5].map((offset) => {
    const channel = Number.parseInt(color.slice(offset, offset + 2), 16) / 255;
    return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
}

function contrast(one: string, other: string): number {
  const [darker, lighter] = [luminance(one), luminance(other)].toSorted((a, b) => a - b);
  return (lighter! + 0.05) / (darker! + 0.05);
}

/** The colour of `over` with an opacity of `alpha` on `ground`. */
function mixed(over: string, ground: string, alpha: number): string {
  const channel = (offset: number): string => {
    const [top, below] = [over, ground].map((color) => Number.parseInt(color.slice(offset, offset + 2), 16));
    return Math.round(top! * alpha + below! * (1 - alpha))
      .toString(16)
      .padStart(2, "0");
  };
  return `#${channel(1)}${channel(3)}${channel(5)}`;
}

type Pair = [name: string, front: string, ground: string];

const grounds = {
  light: { page: gray[0], surface: white, sunken: gray[1] },
  dark: { page: dark[8], surface: dark[7], sunken: dark[6] },
};

const texts: Pair[] = [
  ...Object.entries(grounds.light).flatMap(([name, ground]): Pair[] => [
    [`text on ${name}`, gray[9], ground],
    [`dimmed text on ${name}`, gray[6], ground],
    [`a link on ${name}`, spruce[7], ground],
    [`an error on ${name}`, red[6], ground],
  ]),
  ...Object.entries(grounds.dark).flatMap(([name, ground]): Pair[] => [
    [`text on ${name} in the dark scheme`, dark[0], ground],
    [`dimmed text on ${name} in the dark scheme`, dark[2], ground],
    [`a link on ${name} in the dark scheme`, spruce[3], ground],
    [`an error on ${name} in the dark scheme`, red[3], ground],
  ]),
  ...Object.entries(hues).flatMap(([name, hue]): Pair[] => [
    [`a ${name} button`, white, hue[7]],
    [`a ${name} button hovered`, white, hue[8]],
    [`a ${name} button in the dark scheme`, white, hue[6]],
    [`a ${name} button hovered in the dark scheme`, white, hue[7]],
    [`a light ${name} button`, hue[9], hue[1]],
    [`a light ${name} button in the dark scheme`, hue[1], hue[9]],
    [`a light ${name} button hovered in the dark scheme`, hue[1], hue[8]],
    [`a ${name} badge`, hue[8], hue[0]],
    [`a ${name} badge in the dark scheme`, hue[2], mixed(hue[6], dark[6], 0.26)],
  ]),
  ["a neutral badge", gray[8], gray[1]],
  ["a muted badge", gray[6], gray[1]],
  ["a neutral badge in the dark scheme", dark[0], dark[5]],
  ["a muted badge in the dark scheme", dark[2], dark[5]],
  ["the offline banner", gray[9], amber[2]],
];

const shapes: Pair[] = [
  ["a field's border", gray[4], white],
  ["a field's border in the dark scheme", dark[3], dark[6]],
  ["the focus ring", spruce[6], gray[1]],
  ["the focus ring in the dark scheme", spruce[4], dark[6]],
];

describe("the console's colours", () => {
  it.each(texts)("have a text contrast of 4.5 to 1: %s", (_name, front, ground) => {
    expect(contrast(front, ground)).toBeGreaterThanOrEqual(4.5);
  });

  it.each(shapes)("have a contrast of 3 to 1: %s", (_name, front, ground) => {
    expect(contrast(front, ground)).toBeGreaterThanOrEqual(3);
  });
});
