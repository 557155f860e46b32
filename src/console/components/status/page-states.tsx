/** What a page shows when it is empty, loading, has failed, does not exist or is not allowed. */
import { Button, Code, Paper, Skeleton, Stack, Text, ThemeIcon, Title, VisuallyHidden } from "@mantine/core";
import {
  IconCloudOff,
  IconLock,
  IconMapQuestion,
  IconMoodEmpty,
  IconAlertTriangle,
  IconTestPipe,
  type Icon,
} from "@tabler/icons-react";
import { use, type ReactNode, type RefObject } from "react";
import { describeError } from "../../app/api/describe-error.ts";
import { guide, type GuidePage } from "../../app/guide/guide-pages.ts";
import { useScreenGuide } from "../../app/guide/screen-guide.ts";
import { roleLabel } from "../../app/session/roles.ts";
import { useMode, useSession } from "../../app/session/session.ts";
import { useSwitchMode } from "../../app/session/use-switch-mode.ts";
import { InPanel, usePageHeading } from "../../app/interaction/page-heading.ts";
import { GuideLink } from "../layout/guide-link.tsx";
import { ButtonLink } from "../layout/links.tsx";
import classes from "./page-states.module.css";

interface StateMessageProps {
  icon: Icon;
  color?: string;
  title: string;
  /** Set if the message replaces the whole page: the title becomes the page's `h1`. */
  heading?: RefObject<HTMLHeadingElement | null>;
  children?: ReactNode;
  action?: ReactNode;
  /** Null for no link. */
  guide: GuidePage | null;
}

function StateMessage({
  icon: Picture,
  color = "gray",
  title,
  heading,
  children,
  action,
  guide: guidePage,
}: StateMessageProps) {
  const isPage = heading !== undefined && !use(InPanel);
  return (
    <Stack align="center" gap="sm" className={classes.statement}>
      <ThemeIcon size={52} radius="xl" variant="light" color={color} aria-hidden="true">
        <Picture size={26} stroke={1.6} />
      </ThemeIcon>
      <Title order={isPage ? 1 : 2} size="h2" ta="center" ref={heading} tabIndex={heading ? -1 : undefined}>
        {title}
      </Title>
      {children && (
        <Text component="div" c="dimmed" ta="center" maw="52ch">
          {children}
        </Text>
      )}
      {action}
      {guidePage && <GuideLink page={guidePage} />}
    </Stack>
  );
}

interface EmptyStateProps {
  icon?: Icon;
  title: string;
  /** What will appear here, and how to get it. */
  children?: ReactNode;
  action?: ReactNode;
  /** Explains how to fill it. Default: the page for the screen. */
  guide?: GuidePage;
}

export function EmptyState({ icon = IconMoodEmpty, guide: guidePage, ...message }: EmptyStateProps) {
  const { about, whenEmpty = about } = useScreenGuide();
  const whenEmptyInMode = useMode() === "test" ? guide.testMode : whenEmpty;
  return <StateMessage icon={icon} guide={guidePage ?? whenEmptyInMode} {...message} />;
}

interface ErrorStateProps {
  /** Anything thrown. Its message is shown if it was written for users. */
  error: unknown;
  onRetry?: () => void;
}

export function ErrorState({ error, onRetry }: ErrorStateProps) {
  const { about } = useScreenGuide();
  const { title, message, requestId, isOffline, guide: guidePage } = describeError(error);
  return (
    <div role="alert">
      <StateMessage
        icon={isOffline ? IconCloudOff : IconAlertTriangle}
        color={isOffline ? "gray" : "red"}
        title={title}
        guide={guidePage === "screen" ? about : guidePage}
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

/** Replaces a page that the user's role may not open, or that is for operators. */
export function NoPermission({ isForOperators }: { isForOperators: boolean }) {
  const title = "You don’t have access to this page";
  const heading = usePageHeading(title);
  const { user, organization } = useSession();
  const isLive = useMode() === "live";
  return (
    <StateMessage
      icon={IconLock}
      color="amber"
      title={title}
      heading={heading}
      guide={guide.members}
      action={
        isLive && organization && !isForOperators && <ButtonLink to="/members">See the members</ButtonLink>
      }
    >
      {isForOperators
        ? "Only operators of the service can open it."
        : organization
          ? `Your role in ${organization.name} is ${roleLabel(user.role).toLowerCase()}. An owner can give you another one.`
          : "It is for the users of an organisation, and you are an operator."}
    </StateMessage>
  );
}

/** Replaces a page of the other mode. */
export function OtherMode() {
  const mode = useMode() === "live" ? "test" : "live";
  const title = `This page belongs to ${mode} mode`;
  const heading = usePageHeading(title);
  const switchMode = useSwitchMode();
  return (
    <StateMessage
      icon={IconTestPipe}
      color="violet"
      title={title}
      heading={heading}
      guide={guide.testMode}
      action={<Button onClick={() => void switchMode(mode)}>Switch to {mode} mode</Button>}
    >
      {mode === "live"
        ? "Members, the audit log and your account are the same in both modes. Change them in live mode."
        : "It creates and changes test data only."}
    </StateMessage>
  );
}

interface NotFoundProps {
  title?: string;
  action?: ReactNode;
  children?: ReactNode;
  /** Default: the page about the screen. */
  guide?: GuidePage;
}

/** Replaces a page that does not exist. */
export function NotFound({ title = "Page not found", action, children, guide: guidePage }: NotFoundProps) {
  const { about } = useScreenGuide();
  const heading = usePageHeading(title);
  return (
    <StateMessage
      icon={IconMapQuestion}
      title={title}
      heading={heading}
      action={action}
      guide={guidePage ?? about}
    >
      {children ?? "The URL may be mistyped, or the page may have been removed."}
    </StateMessage>
  );
}

/** Grey lines while content loads. */
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

/** A grey card while its content loads. */
export function LoadingCard({ height = 180 }: { height?: number }) {
  return (
    <Paper role="status" aria-busy="true">
      <VisuallyHidden>Loading…</VisuallyHidden>
      <Skeleton height={height} radius="lg" aria-hidden="true" />
    </Paper>
  );
}
