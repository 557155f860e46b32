/** An error about a form as a whole, announced by screen readers. */
import { Alert } from "@mantine/core";
import { IconAlertCircle } from "@tabler/icons-react";
import type { Failure } from "../../app/api/describe-error.ts";
import { ErrorGuideLink } from "../layout/guide-link.tsx";

export function FormAlert({ failure }: { failure: Failure | null }) {
  if (failure === null) return null;
  return (
    <Alert color="red" role="alert" icon={<IconAlertCircle aria-hidden="true" />}>
      {failure.message}
      <ErrorGuideLink guide={failure.guide} mt={6} />
    </Alert>
  );
}
