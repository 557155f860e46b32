/** An error about a form as a whole, announced by screen readers. */
import { IconAlertCircle } from "@tabler/icons-react";
import type { Failure } from "../../app/api/describe-error.ts";
import { Alert } from "../status/alert.tsx";

export function FormAlert({ failure }: { failure: Failure | null }) {
  if (failure === null) return null;
  return (
    <Alert color="red" role="alert" icon={<IconAlertCircle aria-hidden="true" />} guide={failure.guide}>
      {failure.message}
    </Alert>
  );
}
