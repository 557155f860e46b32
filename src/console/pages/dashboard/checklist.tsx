/**
 * The first steps of a new organisation. Each one checks itself. Once all are done, or when the list is dismissed, it stays away in
 * this browser, because deleting all test data unmarks steps.
 */
import { useQuery } from "@apollo/client/react";
import { Button, Group, List, Paper, Text, ThemeIcon, Title, VisuallyHidden } from "@mantine/core";
import { IconCheck, IconCircle } from "@tabler/icons-react";
import { useCallback, useEffect, useId, useState, type ReactNode } from "react";
import { guide } from "../../app/guide/guide-pages.ts";
import { canVisit } from "../../app/session/access.ts";
import { useSession } from "../../app/session/session.ts";
import { readItem, writeItem } from "../../app/storage.ts";
import { GuideLink } from "../../components/layout/guide-link.tsx";
import { TextLink } from "../../components/layout/links.tsx";
import { FirstStepsDocument, type FirstStepsQuery } from "../../generated/first-steps.ts";
import { pollWhileVisible } from "../integrations/polling.ts";

type Steps = NonNullable<FirstStepsQuery["viewer"]["firstSteps"]>;

interface Step {
  isDone: (steps: Steps) => boolean;
  title: string;
  link: ReactNode;
}

const POLL_MS = 10_000;
const keys = (
  <TextLink to="/integrations/keys" fz="sm">
    API keys
  </TextLink>
);

const list: readonly Step[] = [
  { isDone: ({ hasTestKey }) => hasTestKey, title: "Create a test key", link: keys },
  {
    isDone: ({ hasCalled }) => hasCalled,
    title: "Make the first call with it",
    link: <GuideLink page={guide.createTestJobs} />,
  },
  {
    isDone: ({ hasReceivedWebhook }) => hasReceivedWebhook,
    title: "Receive and verify a webhook in test mode",
    link: (
      <TextLink to="/integrations/endpoints" fz="sm">
        Webhook endpoints
      </TextLink>
    ),
  },
  {
    isDone: ({ hasDeliveredJob }) => hasDeliveredJob,
    title: "Run a test job until it is delivered",
    link: <GuideLink page={guide.runTestJob} />,
  },
  { isDone: ({ hasLiveKey }) => hasLiveKey, title: "Create the live key", link: keys },
];

/** Renders nothing for members and operators, who create no keys. */
export function Checklist() {
  const session = useSession();
  const key = `waymark-first-steps:${session.user.id}`;
  const [isHidden, setHidden] = useState(() => readItem("localStorage", key) !== null);
  const hide = useCallback((): void => {
    writeItem("localStorage", key, "dismissed");
    setHidden(true);
  }, [key]);
  const isOwner = session.organization !== null && canVisit(session, "integrations");
  return isOwner && !isHidden ? <Steps onHide={hide} /> : null;
}

function Steps({ onHide }: { onHide: () => void }) {
  const id = useId();
  const { data } = useQuery(FirstStepsDocument, pollWhileVisible(POLL_MS));
  const steps = data?.viewer.firstSteps;
  const count = steps ? list.filter(({ isDone }) => isDone(steps)).length : 0;
  const isFinished = count === list.length;
  useEffect(() => {
    if (isFinished) onHide();
  }, [isFinished, onHide]);
  if (!steps || isFinished) return null;
  return (
    <Paper component="section" p="lg" mb="lg" aria-labelledby={id}>
      <Group justify="space-between" align="flex-start" wrap="nowrap" mb="sm">
        <div>
          <Title order={2} id={id}>
            First steps
          </Title>
          <Text c="dimmed" fz="sm">
            {count} of {list.length} done
          </Text>
        </div>
        <Button variant="default" size="xs" onClick={onHide}>
          Dismiss
        </Button>
      </Group>
      <List listStyleType="none" spacing="sm" styles={{ itemWrapper: { alignItems: "flex-start" } }}>
        {list.map(({ isDone, title, link }) => (
          <List.Item key={title} icon={<Mark isDone={isDone(steps)} />}>
            <Text component="span" display="block" fw={isDone(steps) ? undefined : 600}>
              {title}
            </Text>
            {!isDone(steps) && link}
          </List.Item>
        ))}
      </List>
    </Paper>
  );
}

function Mark({ isDone }: { isDone: boolean }) {
  const Picture = isDone ? IconCheck : IconCircle;
  return (
    <ThemeIcon size={24} radius="xl" variant="light" color={isDone ? "spruce" : "gray"}>
      <Picture size={14} stroke={2} aria-hidden="true" />
      <VisuallyHidden>{isDone ? "Done" : "To do"}</VisuallyHidden>
    </ThemeIcon>
  );
}
