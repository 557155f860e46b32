/** What stands where there is nothing to see: nothing yet, still on its way, went wrong, or not for you. */
import { Button, Code, Paper, Skeleton, Stack, Text, ThemeIcon, Title, VisuallyHidden } from "@mantine/core";
import {
  IconCloudOff,
  IconLock,
  IconMapQuestion,
  IconMoodEmpty,
  IconAlertTriangle,
  type Icon,
} from "@tabler/icons-react";
import type { ReactNode, RefObject } from "react";
import { describeError } from "../../app/api/describe-error.ts";
import { usePageHeading } from "../../app/interaction/page-heading.ts";
import classes from "./page-states.module.css";

interface StateMessageProps {
  icon: Icon;
  color?: string;
  title: string;
  /** Where it stands in a whole page's place: the title is the page's own. */
  heading?: RefObject<HTMLHeadingElement | null>;
  children?: ReactNode;
  action?: ReactNode;
}

function StateMessage({
  icon: Picture,
  color = "gray",
  title,
  heading,
  children,
  action,
}: StateMessageProps) {
  return (
    <Stack align="center" gap="sm" className={classes.statement}>
      <ThemeIcon size={52} radius="xl" variant="light" color={color} aria-hidden="true">
        <Picture size={26} stroke={1.6} />
      </ThemeIcon>
      <Title order={heading ? 1 : 2} size="h2" ta="center" ref={heading} tabIndex={heading ? -1 : undefined}>
        {title}
      </Title>
      {children && (
        <Text component="div" c="dimmed" ta="center" maw="52ch">
          {children}
        </Text>
      )}
      {action}
    </Stack>
  );
}

interface EmptyStateProps {
  icon?: Icon;
  title: string;
  /** What would stand here, and how it gets there. */
  children?: ReactNode;
  action?: ReactNode;
}

export function EmptyState({ icon = IconMoodEmpty, ...statement }: EmptyStateProps) {
  return <StateMessage icon={icon} {...statement} />;
}

interface ErrorStateProps {
  /** Whatever was thrown: its words are told as far as they are meant for people. */
  error: unknown;
  onRetry?: () => void;
}

export function ErrorState({ error, onRetry }: ErrorStateProps) {
  const { title, message, requestId, isOffline } = describeError(error);
  return (
    <div role="alert">
      <StateMessage
        icon={isOffline ? IconCloudOff : IconAlertTriangle}
        color={isOffline ? "gray" : "red"}
        title={title}
        action={
          onRetry && (
            <Button variant="default" onClick={onRetry}>
              Try again
            </Button>
          )
        }
      >
        {message}
        {requestId && (
          <Text component="span" display="block" mt="xs" fz="sm">
            Request <Code>{requestId}</Code>
          </Text>
        )}
      </StateMessage>
    </div>
  );
}

/** In the place of a page. */
export function NoPermission({ children }: { children?: ReactNode }) {
  const title = "This page is not for your role";
  const heading = usePageHeading(title);
  return (
    <StateMessage icon={IconLock} color="amber" title={title} heading={heading}>
      {children ?? "Ask an owner of your organisation, or who runs this service, if you need what is on it."}
    </StateMessage>
  );
}

/** In the place of a page. */
export function NotFound({ action, children }: { action?: ReactNode; children?: ReactNode }) {
  const title = "There is nothing here";
  const heading = usePageHeading(title);
  return (
    <StateMessage icon={IconMapQuestion} title={title} heading={heading} action={action}>
      {children ?? "The address may be mistyped, or what it led to is gone."}
    </StateMessage>
  );
}

/** Grey lines in the place of what is on its way. */
export function LoadingState({ rows = 6, label = "Loading" }: { rows?: number; label?: string }) {
  return (
    <Stack gap="sm" role="status" aria-busy="true">
      <VisuallyHidden>{label}…</VisuallyHidden>
      {Array.from({ length: rows }, (_, row) => (
        <Skeleton key={row} height={row === 0 ? 34 : 42} radius="md" aria-hidden="true" />
      ))}
    </Stack>
  );
}

/** The same inside a card. */
export function LoadingCard({ height = 180 }: { height?: number }) {
  return (
    <Paper role="status" aria-busy="true">
      <VisuallyHidden>Loading…</VisuallyHidden>
      <Skeleton height={height} radius="lg" aria-hidden="true" />
    </Paper>
  );
}
