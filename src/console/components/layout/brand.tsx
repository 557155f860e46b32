/** The logo and the name. */
import { Group, Text } from "@mantine/core";

function BrandMark({ size = 28 }: { size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="8" fill="#0e524d" />
      <path d="M8 7h9.2L25 16l-7.8 9H8l6.4-9z" fill="#f2b84b" />
    </svg>
  );
}

export function Brand({ size = 28 }: { size?: number }) {
  return (
    <Group gap={10} wrap="nowrap">
      <BrandMark size={size} />
      <Text
        component="span"
        fw={700}
        fz={size > 30 ? "xl" : "lg"}
        lh={1}
        style={{ letterSpacing: "-0.015em" }}
      >
        Waymark
      </Text>
    </Group>
  );
}
