/** An error about a form as a whole, announced by screen readers. */
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
