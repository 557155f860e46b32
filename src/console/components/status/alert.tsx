/** A coloured box about a problem or a result. */
import { Alert as MantineAlert } from "@mantine/core";
import type { ComponentProps } from "react";
import type { Failure } from "../../app/api/describe-error.ts";
import { ErrorGuideLink } from "../layout/guide-link.tsx";

interface AlertProps extends ComponentProps<typeof MantineAlert> {
  /** Explains the problem. Null if nothing is wrong, or without a connection. */
  guide: Failure["guide"];
}

export function Alert({ guide, children, ...alert }: AlertProps) {
  return (
    <MantineAlert {...alert}>
      {children}
      <ErrorGuideLink guide={guide} mt={6} />
    </MantineAlert>
  );
}
