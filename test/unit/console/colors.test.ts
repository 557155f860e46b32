/** The console's colours against WCAG 2.2: text 4.5 to 1, what surrounds a control 3 to 1, in light and dark. */
import { describe, expect, it } from "vitest";
import { colors } from "../../../src/console/theme/colors.ts";

const { spruce, amber, gray, dark, red, blue, violet } = colors;
const white = "#ffffff";
const hues = { spruce, amber, red, blue, violet };

/** Relative luminance, as WCAG defines it. */
function luminance(color: string): number {
  const [r, g, b] = [1, 3, 5].map((at) => {
    const channel = Number.parseInt(color.slice(at, at + 2), 16) / 255;
    return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
}

function contrast(one: string, other: string): number {
  const [darker, lighter] = [luminance(one), luminance(other)].toSorted((a, b) => a - b);
  return (lighter! + 0.05) / (darker! + 0.05);
}

/** `over` seen through `share` of itself on `ground`. */
function mixed(over: string, ground: string, share: number): string {
  const channel = (at: number): string => {
    const [top, below] = [over, ground].map((color) => Number.parseInt(color.slice(at, at + 2), 16));
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
  ...Object.entries(grounds.light).flatMap(([name, ground]): Pair[] => [
    [`text on ${name}`, gray[9], ground],
    [`dimmed text on ${name}`, gray[6], ground],
    [`a link on ${name}`, spruce[7], ground],
    [`an error on ${name}`, red[6], ground],
  ]),
  ...Object.entries(grounds.dark).flatMap(([name, ground]): Pair[] => [
    [`text on ${name} by night`, dark[0], ground],
    [`dimmed text on ${name} by night`, dark[2], ground],
    [`a link on ${name} by night`, spruce[3], ground],
    [`an error on ${name} by night`, red[3], ground],
  ]),
  ...Object.entries(hues).flatMap(([name, hue]): Pair[] => [
    [`a ${name} button`, white, hue[7]],
    [`a ${name} button under the mouse`, white, hue[8]],
    [`a ${name} button by night`, white, hue[6]],
    [`a ${name} button under the mouse by night`, white, hue[7]],
    [`a light ${name} button`, hue[9], hue[1]],
    [`a light ${name} button by night`, hue[1], hue[9]],
    [`a light ${name} button under the mouse by night`, hue[1], hue[8]],
    [`a ${name} badge`, hue[8], hue[0]],
    [`a ${name} badge by night`, hue[2], mixed(hue[6], dark[6], 0.26)],
  ]),
  ["a neutral badge", gray[8], gray[1]],
  ["a muted badge", gray[6], gray[1]],
  ["a neutral badge by night", dark[0], dark[5]],
  ["a muted badge by night", dark[2], dark[5]],
  ["the banner without a network", gray[9], amber[2]],
];

const shapes: Pair[] = [
  ["a field's frame", gray[4], white],
  ["a field's frame by night", dark[3], dark[6]],
  ["the focus ring", spruce[6], gray[1]],
  ["the focus ring by night", spruce[4], dark[6]],
];

describe("the console's colours", () => {
  it.each(texts)("can be read: %s", (_what, front, ground) => {
    expect(contrast(front, ground)).toBeGreaterThanOrEqual(4.5);
  });

  it.each(shapes)("can be made out: %s", (_what, front, ground) => {
    expect(contrast(front, ground)).toBeGreaterThanOrEqual(3);
  });
});
