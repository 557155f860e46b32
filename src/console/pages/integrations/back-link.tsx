/** A link back to a list, above a page's heading. */
import { IconChevronLeft } from "@tabler/icons-react";
import { createLink } from "@tanstack/react-router";
import type { ComponentPropsWithRef } from "react";
import classes from "./integrations.module.css";

export const BackLink = createLink(({ children, ...link }: ComponentPropsWithRef<"a">) => (
  <a {...link} className={classes.back}>
    <IconChevronLeft size={15} aria-hidden="true" />
    {children}
  </a>
));
