/** A section of a settings page: heading on the left, content on the right; stacked on a phone. */
import { Paper, Text, Title } from "@mantine/core";
import { useId, type ReactNode } from "react";
import classes from "./section.module.css";

interface SectionProps {
  title: string;
  description?: ReactNode;
  children: ReactNode;
}

export function Section({ title, description, children }: SectionProps) {
  const id = useId();
  return (
    <section className={classes.root} aria-labelledby={id}>
      <div>
        <Title order={2} id={id}>
          {title}
        </Title>
        {description && (
          <Text c="dimmed" fz="sm" mt={4}>
            {description}
          </Text>
        )}
      </div>
      <Paper p="lg">{children}</Paper>
    </section>
  );
}
