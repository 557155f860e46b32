/** The `h1` of a page, or `h2` of a panel, with its description and actions. It also sets the document title. */
import { Box, Group, Text, Title } from "@mantine/core";
import { use, type ReactNode } from "react";
import { InPanel, usePageHeading } from "../../app/interaction/page-heading.ts";
import classes from "./page-header.module.css";

interface PageHeaderProps {
  /** Also the document's title. */
  title: string;
  /** Next to the title, such as a badge or a copy button. */
  titleAside?: ReactNode;
  /** Below the title: the state of what the page is about. */
  summary?: ReactNode;
  description?: ReactNode;
  /** Above the title: a link back to the list. Not shown in a panel. */
  back?: ReactNode;
  actions?: ReactNode;
}

export function PageHeader({ title, titleAside, summary, description, back, actions }: PageHeaderProps) {
  const heading = usePageHeading(title);
  const isInPanel = use(InPanel);
  return (
    <Box component="header" className={classes.root}>
      {back && !isInPanel && <div className={classes.back}>{back}</div>}
      <div className={classes.line}>
        <div className={classes.main}>
          <Group gap="sm" className={classes.title}>
            <Title order={isInPanel ? 2 : 1} ref={heading} tabIndex={-1}>
              {title}
            </Title>
            {titleAside}
          </Group>
          {summary && <div className={classes.summary}>{summary}</div>}
          {description && (
            <Text c="dimmed" maw="70ch" mt={4}>
              {description}
            </Text>
          )}
        </div>
        {actions && <Group gap="xs">{actions}</Group>}
      </div>
    </Box>
  );
}
