/** What was wrong with a form as a whole. A screen reader says it as soon as it stands there. */
import { Alert } from "@mantine/core";
import { IconAlertCircle } from "@tabler/icons-react";

export function FormAlert({ message }: { message: string | null }) {
  if (message === null) return null;
  return (
    <Alert color="red" role="alert" icon={<IconAlertCircle aria-hidden="true" />}>
      {message}
    </Alert>
  );
}
