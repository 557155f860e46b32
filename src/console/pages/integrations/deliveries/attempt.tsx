/** One attempt of a delivery: the request, the response and the result. */
import { Group, Stack, Text } from "@mantine/core";
import { CodeBlock } from "../../../components/display/code-block.tsx";
import { StatusBadge } from "../../../components/status/status-badge.tsx";
import type { AttemptDetailsFragment } from "../../../generated/webhook-delivery.ts";
import { Collapsible } from "../../../components/display/collapsible.tsx";
import { outcomeLabel } from "./delivery-status.ts";
import { truncate, formatDuration, formatHeaders, formatBody } from "../formatting.ts";

interface AttemptProps {
  attempt: AttemptDetailsFragment;
}

/** Characters shown before the full body is expanded. The log stores up to 4 KiB. */
const BODY_PREVIEW_LENGTH = 1_024;

export function AttemptSummary({ attempt }: AttemptProps) {
  const { outcome, httpStatus, durationMs, error } = attempt;
  const isDelivered = outcome === "delivered";
  const label = isDelivered && httpStatus !== null ? `HTTP ${httpStatus}` : outcomeLabel(outcome);
  return (
    <Stack gap={6}>
      <Group gap="sm">
        <StatusBadge tone={isDelivered ? "success" : "danger"} label={label} />
        <Text c="dimmed" fz="sm">
          in {formatDuration(durationMs)}
        </Text>
      </Group>
      {error !== null && <Text fz="sm">{error}</Text>}
    </Stack>
  );
}

export function AttemptRequest({ attempt }: AttemptProps) {
  return (
    <Collapsible title="Request headers">
      <CodeBlock
        code={formatHeaders(attempt.requestHeaders)}
        label={`request headers of attempt ${attempt.number}`}
        wrap
      />
    </Collapsible>
  );
}

/** `isOpen`: the body is initially expanded. */
export function AttemptResponse({ attempt, isOpen = false }: AttemptProps & { isOpen?: boolean }) {
  const { responseHeaders, responseBody } = attempt;
  if (responseHeaders === null) return null;
  return (
    <>
      <Collapsible title="Response headers">
        <CodeBlock
          code={formatHeaders(responseHeaders)}
          label={`response headers of attempt ${attempt.number}`}
          wrap
        />
      </Collapsible>
      {responseBody === null || responseBody === "" ? (
        <Text c="dimmed" fz="sm">
          The response has no body.
        </Text>
      ) : (
        <Collapsible title="Response body" isOpen={isOpen}>
          <ResponseBody body={responseBody} number={attempt.number} />
        </Collapsible>
      )}
    </>
  );
}

function ResponseBody({ body, number }: { body: string; number: number }) {
  const { shown, isCut } = truncate(formatBody(body), BODY_PREVIEW_LENGTH);
  return (
    <Stack gap={6}>
      <CodeBlock code={shown} label={`response body of attempt ${number}`} wrap />
      {isCut && (
        <Collapsible title="Show all">
          <CodeBlock code={formatBody(body)} label={`full response body of attempt ${number}`} wrap />
        </Collapsible>
      )}
    </Stack>
  );
}
