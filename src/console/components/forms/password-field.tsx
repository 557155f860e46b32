/** A password, which can be looked at. */
import { PasswordInput, type PasswordInputProps } from "@mantine/core";

export function PasswordField(props: PasswordInputProps) {
  // Mantine says it of the frame alone, and a screen reader is in the field.
  return <PasswordInput aria-invalid={props.error ? true : undefined} withAsterisk={false} {...props} />;
}
