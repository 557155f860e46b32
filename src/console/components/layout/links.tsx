/** Mantine's links and buttons as router links: `to`, `params` and `search` are checked against the routes. */
import {
  ActionIcon,
  Anchor,
  Button,
  NavLink,
  type ActionIconProps,
  type AnchorProps,
  type ButtonProps,
  type NavLinkProps,
} from "@mantine/core";
import { createLink } from "@tanstack/react-router";
import type { ComponentPropsWithRef } from "react";

type LinkPropsOf<Props> = Props & Omit<ComponentPropsWithRef<"a">, keyof Props>;

export const TextLink = createLink((props: LinkPropsOf<AnchorProps>) => <Anchor {...props} />);

export const ButtonLink = createLink((props: LinkPropsOf<ButtonProps>) => (
  <Button component="a" {...props} />
));

export const IconLink = createLink((props: LinkPropsOf<ActionIconProps>) => (
  <ActionIcon component="a" {...props} />
));

export const SideBarLink = createLink((props: LinkPropsOf<NavLinkProps>) => (
  <NavLink component="a" {...props} />
));
