import { ButtonLink } from "../components/layout/links.tsx";
import { NotFound } from "../components/status/page-states.tsx";

export function NotFoundPage() {
  return <NotFound action={<ButtonLink to="/">Go to the dashboard</ButtonLink>} />;
}
