/** A preview of an e-mail before it is sent. */
import { Text } from "@mantine/core";
import classes from "./mail-preview.module.css";
import type { MailDraft } from "./mail-drafts.ts";

/** `placeholder` replaces a paragraph that is still empty. */
export function MailPreview({ draft, placeholder }: { draft: MailDraft; placeholder?: string }) {
  return (
    <section className={classes.root} aria-label="E-mail preview">
      <Text fz="sm" c="dimmed">
        To {draft.to}
      </Text>
      <Text fz="sm" fw={650} mb="xs">
        {draft.subject}
      </Text>
      {draft.paragraphs.map((paragraph, index) => (
        // The order of paragraphs never changes.
        // oxlint-disable-next-line react/no-array-index-key
        <p key={index} data-placeholder={paragraph.trim() === "" || undefined}>
          {paragraph.trim() === "" ? placeholder : paragraph}
        </p>
      ))}
      {draft.action && <span className={classes.action}>{draft.action}</span>}
    </section>
  );
}
