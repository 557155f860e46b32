/** Tabs that link to the pages of a section. */
import { Link, type LinkProps } from "@tanstack/react-router";
import classes from "./section-tabs.module.css";

interface SectionTabsProps {
  /** Names the section for screen readers. */
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
