import { ButtonLink } from "../components/links.tsx";
import { NotFound } from "../components/states.tsx";

export function NotFoundPage() {
  return <NotFound action={<ButtonLink to="/">To the dashboard</ButtonLink>} />;
}
