/** The receiver's response to a test event. */
import { CloseButton, Paper, Stack, Text, Title } from "@mantine/core";
import { focusOnMount } from "../../../app/interaction/focus-on-mount.ts";
import { guide } from "../../../app/guide/guide-pages.ts";
import { GuideLink } from "../../../components/layout/guide-link.tsx";
import { TextLink } from "../../../components/layout/links.tsx";
import { AttemptResponse, AttemptSummary } from "../deliveries/attempt.tsx";
import classes from "../integrations.module.css";
import type { TestDelivery } from "./use-test-event.ts";

interface TestEventResultProps {
  result: TestDelivery;
  onClose: () => void;
}

export function TestEventResult({ result, onClose }: TestEventResultProps) {
  const attempt = result.attempts?.at(-1);
  return (
    <Paper component="section" p="lg" aria-labelledby="test-result" className={classes.raised}>
      <CloseButton aria-label="Close test result" onClick={onClose} className={classes.corner} />
      <Stack gap="sm">
        <Title
          order={2}
          id="test-result"
          ref={focusOnMount}
          tabIndex={-1}
          style={{ outline: "none" }}
          pr={40}
        >
          Test event
        </Title>
        {attempt ? (
          <>
            <AttemptSummary attempt={attempt} />
            <AttemptResponse attempt={attempt} isOpen />
          </>
        ) : (
          <Text>The test event was not sent.</Text>
        )}
        {attempt?.outcome !== "delivered" && <GuideLink page={guide.outcomes} />}
        <Text fz="sm">
          <TextLink to="/integrations/deliveries/$id" params={{ id: result.id }}>
            View delivery
          </TextLink>
        </Text>
      </Stack>
    </Paper>
  );
}
