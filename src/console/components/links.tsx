/** Mantine's look on the router's links: `to`, `params` and `search` are checked against the routes. */
import {
  Anchor,
  Button,
  NavLink,
  type AnchorProps,
  type ButtonProps,
  type NavLinkProps,
} from "@mantine/core";
import { createLink } from "@tanstack/react-router";
import type { ComponentPropsWithRef } from "react";

type LinkParts<Props> = Props & Omit<ComponentPropsWithRef<"a">, keyof Props>;

export const TextLink = createLink((props: LinkParts<AnchorProps>) => <Anchor {...props} />);

export const ButtonLink = createLink((props: LinkParts<ButtonProps>) => <Button component="a" {...props} />);

export const SideLink = createLink((props: LinkParts<NavLinkProps>) => <NavLink component="a" {...props} />);
