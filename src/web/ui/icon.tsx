/** Line icons on a grid of 24: icons.json has their paths. They only repeat the words beside them. */
import PATHS from "./icons.json";

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}

/** The product's mark. */
export function LogoMark() {
  return (
    <svg class="logo-mark" viewBox="0 0 32 32" width={28} height={28} aria-hidden="true">
      <rect width="32" height="32" rx="9" />
      <path d="M9 16.5l5 5 9-10" stroke="#fff" stroke-width={3.4} />
    </svg>
  );
}
