/** The pages of a section, as a row of links below its heading. */
import { Link, type LinkProps } from "@tanstack/react-router";
import classes from "./section-tabs.module.css";

interface SectionTabsProps {
  /** What they are pages of, for a screen reader. */
  label: string;
  tabs: readonly { label: string; to: NonNullable<LinkProps["to"]> }[];
}

export function SectionTabs({ label, tabs }: SectionTabsProps) {
  return (
    <nav aria-label={label} className={classes.root}>
      {tabs.map((tab) => (
        <Link key={tab.to} to={tab.to} className={classes.tab} activeOptions={{ includeSearch: false }}>
          {tab.label}
        </Link>
      ))}
    </nav>
  );
}
