/** What the receiver answered to a test event. */
import { CloseButton, Paper, Stack, Text, Title } from "@mantine/core";
import { focusOnArrival } from "../../app/focus.ts";
import { TextLink } from "../../components/links.tsx";
import { AttemptAnswer, AttemptVerdict } from "./attempt.tsx";
import classes from "./integrations.module.css";
import type { TestResult } from "./use-test-event.ts";

interface TestAnswerProps {
  result: TestResult;
  onClose: () => void;
}

export function TestAnswer({ result, onClose }: TestAnswerProps) {
  const attempt = result.attempts?.at(-1);
  return (
    <Paper component="section" p="lg" aria-labelledby="test-answer" className={classes.raised}>
      <CloseButton aria-label="Close the test's answer" onClick={onClose} className={classes.corner} />
      <Stack gap="sm">
        <Title
          order={2}
          id="test-answer"
          ref={focusOnArrival}
          tabIndex={-1}
          style={{ outline: "none" }}
          pr={40}
        >
          Test event
        </Title>
        {attempt ? (
          <>
            <AttemptVerdict attempt={attempt} />
            <AttemptAnswer attempt={attempt} isOpen />
          </>
        ) : (
          <Text>It was not sent.</Text>
        )}
        <Text fz="sm">
          <TextLink to="/integrations/deliveries/$id" params={{ id: result.id }}>
            What was sent
          </TextLink>
        </Text>
      </Stack>
    </Paper>
  );
}
