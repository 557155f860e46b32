/** What each input of a field of a job is given. */
import type { Choices } from "./use-choices.ts";

export interface InputParts {
  label: string;
  value: string;
  onChange: (value: string) => void;
  choices: Choices;
  error: string | undefined;
  disabled: boolean;
}
