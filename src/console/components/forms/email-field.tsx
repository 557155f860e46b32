/** Inputs for an e-mail address. */
import { TextInput, type TextInputProps } from "@mantine/core";

export function EmailField(props: TextInputProps) {
  return <TextInput label="E-mail" type="email" required withAsterisk={false} {...props} />;
}

/** Cannot be edited. Next to a new password it tells password managers which account the password is for. */
export function ReadOnlyEmailField(props: TextInputProps) {
  return <TextInput label="E-mail" type="email" readOnly variant="filled" {...props} />;
}
