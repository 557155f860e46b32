/** An e-mail address: one that is asked for, and one that is known. */
import { TextInput, type TextInputProps } from "@mantine/core";

export function EmailField(props: TextInputProps) {
  return <TextInput label="E-mail" type="email" required withAsterisk={false} {...props} />;
}

/** It cannot be changed here. Beside a new password it says to a password manager whose that is. */
export function ReadOnlyEmailField(props: TextInputProps) {
  return <TextInput label="E-mail" type="email" readOnly variant="filled" {...props} />;
}
