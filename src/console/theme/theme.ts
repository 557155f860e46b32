/** Mantine's theme: colours, fonts and sizes. */
import { createTheme, type CSSVariablesResolver, type MantineThemeOverride } from "@mantine/core";
import { colors } from "./colors.ts";

const SANS_FONTS =
  'ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", Arial, sans-serif';
const MONO_FONTS =
  'ui-monospace, SFMono-Regular, "SF Mono", Menlo, Consolas, "Liberation Mono", "DejaVu Sans Mono", monospace';

/** Plain objects, because `Button.extend` would pull all of these components into the first chunk. */
const components: MantineThemeOverride["components"] = {
  Button: { defaultProps: { size: "sm" }, styles: { label: { fontWeight: 600 } } },
  ActionIcon: { defaultProps: { variant: "subtle", color: "gray", size: "lg" } },
  Anchor: { defaultProps: { underline: "always", inherit: true } },
  Alert: { defaultProps: { variant: "light" } },
  Badge: {
    defaultProps: { variant: "light", radius: "sm" },
    styles: { root: { textTransform: "none", fontWeight: 600, letterSpacing: 0 } },
  },
  PasswordInput: {
    defaultProps: {
      visibilityToggleButtonProps: { "aria-label": "Show password" },
      visibilityToggleFocusable: true,
    },
  },
  Paper: {
    defaultProps: { withBorder: true, radius: "lg" },
    vars: () => ({ root: { "--paper-border-color": "var(--waymark-line)" } }),
  },
  Modal: {
    defaultProps: {
      // A dialog's header is not the page's banner.
      attributes: { header: { role: "presentation" } },
      centered: true,
      radius: "lg",
      overlayProps: { backgroundOpacity: 0.45 },
      closeButtonProps: { "aria-label": "Close" },
    },
    styles: { title: { fontWeight: 650, fontSize: "1.0625rem", lineHeight: 1.35 } },
  },
  Drawer: {
    defaultProps: { closeButtonProps: { "aria-label": "Close" } },
    styles: { title: { fontWeight: 650, fontSize: "1.0625rem", lineHeight: 1.35 } },
  },
  Menu: { defaultProps: { shadow: "md", position: "bottom-end", withInitialFocusPlaceholder: false } },
  Table: { defaultProps: { verticalSpacing: 9, horizontalSpacing: 14, fz: "sm" } },
  Tooltip: {
    defaultProps: { withArrow: true, openDelay: 300, events: { hover: true, focus: true, touch: true } },
  },
  InputWrapper: {
    styles: { label: { fontWeight: 600, marginBottom: 4 }, description: { marginBottom: 4 } },
  },
};

export const theme = createTheme({
  colors,
  primaryColor: "spruce",
  primaryShade: { light: 7, dark: 6 },
  white: "#ffffff",
  black: colors.gray[9],
  autoContrast: true,
  // The luminance at which black and white text have the same contrast.
  luminanceThreshold: 0.179,
  fontFamily: SANS_FONTS,
  fontFamilyMonospace: MONO_FONTS,
  fontSizes: { xs: "0.75rem", sm: "0.875rem", md: "0.9375rem", lg: "1.0625rem", xl: "1.25rem" },
  lineHeights: { xs: "1.4", sm: "1.45", md: "1.55", lg: "1.6", xl: "1.65" },
  headings: {
    fontFamily: SANS_FONTS,
    fontWeight: "650",
    sizes: {
      h1: { fontSize: "1.5rem", lineHeight: "1.25" },
      h2: { fontSize: "1.125rem", lineHeight: "1.35" },
      h3: { fontSize: "0.9375rem", lineHeight: "1.4" },
    },
  },
  defaultRadius: "md",
  radius: { xs: "3px", sm: "5px", md: "7px", lg: "10px", xl: "16px" },
  cursorType: "pointer",
  respectReducedMotion: true,
  focusRing: "auto",
  components,
});

/** Backgrounds and text of the `light` variant in the dark scheme, where Mantine's are nearly black. */
function lightVariantInDarkScheme(): Record<string, string> {
  const names = ["spruce", "amber", "red", "blue", "violet"] as const;
  return Object.fromEntries(
    names.flatMap((name) => [
      [`--mantine-color-${name}-light`, colors[name][9]],
      [`--mantine-color-${name}-light-hover`, colors[name][8]],
      [`--mantine-color-${name}-light-color`, colors[name][1]],
    ]),
  );
}

/** Replaces Mantine's shades where their contrast is too low, and adds our own background and border variables. */
export const cssVariables: CSSVariablesResolver = () => ({
  variables: {
    "--waymark-blaze": colors.amber[4],
  },
  light: {
    "--mantine-color-body": "#ffffff",
    "--waymark-ground": colors.gray[0],
    "--waymark-surface": "#ffffff",
    "--waymark-sunken": colors.gray[1],
    "--waymark-line": colors.gray[2],
    "--mantine-color-dimmed": colors.gray[6],
    "--mantine-color-placeholder": colors.gray[6],
    "--mantine-color-error": colors.red[6],
    "--mantine-color-anchor": colors.spruce[7],
    "--mantine-color-default-border": colors.gray[3],
    "--waymark-focus": colors.spruce[6],
    "--waymark-test": colors.violet[7],
  },
  dark: {
    "--mantine-color-body": colors.dark[7],
    "--waymark-ground": colors.dark[8],
    "--waymark-surface": colors.dark[7],
    "--waymark-sunken": colors.dark[6],
    "--waymark-line": colors.dark[5],
    "--mantine-color-dimmed": colors.dark[2],
    "--mantine-color-placeholder": colors.dark[2],
    "--mantine-color-error": colors.red[3],
    "--mantine-color-anchor": colors.spruce[3],
    "--mantine-color-default-border": colors.dark[4],
    "--mantine-color-gray-light": colors.dark[5],
    "--mantine-color-gray-light-hover": colors.dark[5],
    "--mantine-color-gray-light-color": colors.dark[0],
    "--waymark-control-line": colors.dark[3],
    "--waymark-focus": colors.spruce[4],
    "--waymark-test": colors.violet[6],
    ...lightVariantInDarkScheme(),
  },
});
