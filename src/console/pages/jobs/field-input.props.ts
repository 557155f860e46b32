/** The props of every input for a job field. */
import type { ReferenceData } from "./use-reference-data.ts";

export interface FieldInputProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  referenceData: ReferenceData;
  error: string | undefined;
  /** Shown below the label. */
  description: string | undefined;
  disabled: boolean;
}
