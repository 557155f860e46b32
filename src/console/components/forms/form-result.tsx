/** Replaces a form after it was sent, with what happens next. */
import { Stack, Text, ThemeIcon } from "@mantine/core";
import { IconCheck, type Icon } from "@tabler/icons-react";
import { useEffect, type ReactNode } from "react";
import { usePageHeading } from "../../app/interaction/page-heading.ts";

interface FormResultProps {
  icon?: Icon;
  title: string;
  children: ReactNode;
  action?: ReactNode;
}

export function FormResult({ icon: Picture = IconCheck, title, children, action }: FormResultProps) {
  const heading = usePageHeading(title);
  // The focused button was removed with the form.
  useEffect(() => heading.current?.focus(), [heading]);
  return (
    <Stack gap="md">
      <ThemeIcon size={44} radius="xl" variant="light" aria-hidden="true">
        <Picture size={24} />
      </ThemeIcon>
      <Text component="h1" fz="xl" fw={650} m={0} ref={heading} tabIndex={-1}>
        {title}
      </Text>
      <Text component="div" c="dimmed">
        {children}
      </Text>
      {action}
    </Stack>
  );
}
