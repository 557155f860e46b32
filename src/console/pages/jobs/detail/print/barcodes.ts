/** Barcodes as pictures in SVG. Loaded only to print, because the library is large. */
import { code128, drawingSVG, qrcode } from "bwip-js/browser";

/** Printable ASCII, and short enough for a sheet of A4 with bars that every scanner reads. */
const CODE_128 = /^[\u{20}-\u{7E}]{1,40}$/u;
const MODULE_MM = 0.4;
const MAX_WIDTH_MM = 165;

export interface LinearBarcode {
  /** A `data:` URL. */
  url: string;
  widthMm: number;
}

/** Null for a text that a scanner would not read back from Code 128. */
export function code128Of(text: string): LinearBarcode | null {
  if (!CODE_128.test(text)) return null;
  const svg = code128({ bcid: "code128", text, scale: 1, height: 14 }, drawingSVG());
  // Of one unit for each module.
  const modules = Number(/viewBox="0 0 (\d+)/.exec(svg)?.[1]);
  return { url: dataUrl(svg), widthMm: Math.min(MAX_WIDTH_MM, modules * MODULE_MM) };
}

/** Returns a `data:` URL. */
export function qrCodeOf(text: string): string {
  return dataUrl(qrcode({ bcid: "qrcode", text }, drawingSVG()));
}

function dataUrl(svg: string): string {
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}
