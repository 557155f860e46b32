/** A page's one `h1`, what it is about, and what can be done on it. It names the document too. */
import { Box, Group, Text, Title } from "@mantine/core";
import type { ReactNode } from "react";
import { usePageHeading } from "../../app/interaction/page-heading.ts";
import classes from "./page-header.module.css";

interface PageHeaderProps {
  /** Also the document's title. */
  title: string;
  /** Beside the title: a badge, a button to copy it. */
  titleAside?: ReactNode;
  description?: ReactNode;
  /** Above the title: the way back to the list. */
  back?: ReactNode;
  actions?: ReactNode;
}

export function PageHeader({ title, titleAside, description, back, actions }: PageHeaderProps) {
  const heading = usePageHeading(title);
  return (
    <Box component="header" className={classes.root}>
      {back && <div className={classes.back}>{back}</div>}
      <div className={classes.line}>
        <Group gap="sm" className={classes.title}>
          <Title order={1} ref={heading} tabIndex={-1}>
            {title}
          </Title>
          {titleAside}
        </Group>
        {actions && <Group gap="xs">{actions}</Group>}
      </div>
      {description && (
        <Text c="dimmed" maw="70ch" mt={4}>
          {description}
        </Text>
      )}
    </Box>
  );
}
