/** A link to a page of the guide. It opens a new tab, so that the screen and its input stay. */
import { Anchor, VisuallyHidden, type AnchorProps } from "@mantine/core";
import { IconBook2 } from "@tabler/icons-react";
import { useState } from "react";
import { serverUrl } from "../../app/api/server-url.ts";
import type { Failure } from "../../app/api/describe-error.ts";
import type { GuidePage } from "../../app/guide/guide-pages.ts";
import { useScreenGuide } from "../../app/guide/screen-guide.ts";
import classes from "./guide-link.module.css";

interface GuideLinkProps extends Omit<AnchorProps, "underline"> {
  page: GuidePage;
}

export function GuideLink({ page, ...anchor }: GuideLinkProps) {
  return (
    <Anchor
      href={serverUrl(`guide/${page.target}`)}
      target="_blank"
      rel="noopener"
      fz="sm"
      className={classes.link}
      {...anchor}
    >
      <IconBook2 size={16} stroke={1.7} className={classes.icon} aria-hidden="true" />
      <span>
        Guide: {page.title}
        <VisuallyHidden> (opens a new tab)</VisuallyHidden>
      </span>
    </Anchor>
  );
}

/** The link below the message of an alert or a toast, in the colour of its text. */
export function ErrorGuideLink({ guide, ...anchor }: { guide: Failure["guide"] } & AnchorProps) {
  // A toast outlives the screen of its error.
  const screen = useScreenGuide();
  const [{ about }] = useState(screen);
  if (guide === null) return null;
  return (
    <div>
      <GuideLink page={guide === "screen" ? about : guide} c="inherit" {...anchor} />
    </div>
  );
}
