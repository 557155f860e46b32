/** One request of a delivery: how it ended, what was sent, and what the receiver answered. */
import { Group, Stack, Text } from "@mantine/core";
import { CodeBlock } from "../../components/code-block.tsx";
import { StatusBadge } from "../../components/status-badge.tsx";
import type { AttemptDetailsFragment } from "../../generated/webhook-delivery.ts";
import { Fold } from "./fold.tsx";
import { outcomeWords } from "./outcomes.ts";
import { beginning, duration, headerLines, prettyBody } from "./readable.ts";

interface AttemptProps {
  attempt: AttemptDetailsFragment;
}

/** The test's answer and the timeline show so much of a body; the log keeps 4 KiB. */
const SHOWN = 1_024;

export function AttemptVerdict({ attempt }: AttemptProps) {
  const { outcome, httpStatus, durationMs, error } = attempt;
  const isDelivered = outcome === "delivered";
  const words = isDelivered && httpStatus !== null ? `Answered ${httpStatus}` : outcomeWords(outcome);
  return (
    <Stack gap={6}>
      <Group gap="sm">
        <StatusBadge tone={isDelivered ? "success" : "danger"} label={words} />
        <Text c="dimmed" fz="sm">
          in {duration(durationMs)}
        </Text>
      </Group>
      {error !== null && <Text fz="sm">{error}</Text>}
    </Stack>
  );
}

export function AttemptRequest({ attempt }: AttemptProps) {
  return (
    <Fold title="Request headers">
      <CodeBlock
        code={headerLines(attempt.requestHeaders)}
        label={`request headers of attempt ${attempt.number}`}
        wrap
      />
    </Fold>
  );
}

/** `isOpen`: unfolded from the start. */
export function AttemptAnswer({ attempt, isOpen = false }: AttemptProps & { isOpen?: boolean }) {
  const { responseHeaders, responseBody } = attempt;
  if (responseHeaders === null) return null;
  return (
    <>
      <Fold title="Answer's headers">
        <CodeBlock
          code={headerLines(responseHeaders)}
          label={`answer's headers of attempt ${attempt.number}`}
          wrap
        />
      </Fold>
      {responseBody === null || responseBody === "" ? (
        <Text c="dimmed" fz="sm">
          The answer has no body.
        </Text>
      ) : (
        <Fold title="Answer's body" isOpen={isOpen}>
          <AnswerBody body={responseBody} number={attempt.number} />
        </Fold>
      )}
    </>
  );
}

function AnswerBody({ body, number }: { body: string; number: number }) {
  const { shown, isCut } = beginning(prettyBody(body), SHOWN);
  return (
    <Stack gap={6}>
      <CodeBlock code={shown} label={`answer's body of attempt ${number}`} wrap />
      {isCut && (
        <Fold title="All that was kept">
          <CodeBlock code={prettyBody(body)} label={`whole answer's body of attempt ${number}`} wrap />
        </Fold>
      )}
    </Stack>
  );
}
