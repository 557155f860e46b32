/** An input for a new password, with the rules. */
import type { PasswordInputProps } from "@mantine/core";
import { PasswordField } from "./password-field.tsx";

export function NewPasswordInput(props: PasswordInputProps) {
  return (
    <PasswordField
      label="Password"
      description="At least 12 characters. A few random words are easy to remember and hard to guess."
      autoComplete="new-password"
      minLength={12}
      maxLength={128}
      required
      {...props}
    />
  );
}
