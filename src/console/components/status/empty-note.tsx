/** One line in place of a list that is empty. A page that is empty has an `EmptyState`. */
import { Text } from "@mantine/core";
import type { ReactNode } from "react";
import type { GuidePage } from "../../app/guide/guide-pages.ts";
import { GuideLink } from "../layout/guide-link.tsx";

interface EmptyNoteProps {
  /** Explains what the list contains and how to fill it. */
  guide: GuidePage;
  children: ReactNode;
}

export function EmptyNote({ guide, children }: EmptyNoteProps) {
  return (
    <Text component="div" c="dimmed" fz="sm">
      {children}
      <div>
        <GuideLink page={guide} mt={4} />
      </div>
    </Text>
  );
}
