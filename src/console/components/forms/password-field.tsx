/** A password input with a button that shows the password. */
import { PasswordInput, type PasswordInputProps } from "@mantine/core";

export function PasswordField(props: PasswordInputProps) {
  // Mantine sets aria-invalid only on the wrapper; screen readers need it on the input.
  return <PasswordInput aria-invalid={props.error ? true : undefined} withAsterisk={false} {...props} />;
}
