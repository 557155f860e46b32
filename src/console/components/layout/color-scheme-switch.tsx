/** Switches between the light, dark and system colour scheme. */
import {
  Center,
  SegmentedControl,
  useMantineColorScheme,
  VisuallyHidden,
  type MantineColorScheme,
} from "@mantine/core";
import { IconDeviceDesktop, IconMoon, IconSun } from "@tabler/icons-react";

export const colorSchemes = [
  { value: "light", label: "Light", icon: IconSun },
  { value: "auto", label: "System", icon: IconDeviceDesktop },
  { value: "dark", label: "Dark", icon: IconMoon },
] satisfies { value: MantineColorScheme; label: string; icon: typeof IconSun }[];

export function ColorSchemeSwitch() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <SegmentedControl
      size="xs"
      aria-label="Colour scheme"
      value={colorScheme}
      onChange={(value) => setColorScheme(value)}
      data={colorSchemes.map(({ value, label, icon: Picture }) => ({
        value,
        label: (
          <Center title={label}>
            <Picture size={15} aria-hidden="true" />
            <VisuallyHidden>{label}</VisuallyHidden>
          </Center>
        ),
      }))}
    />
  );
}
