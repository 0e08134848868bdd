/** Parts of every page. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Loaded, LoadedList } from "../state/load.ts";
import { place } from "../state/router.ts";
import { Problem } from "./problem.tsx";

/** A wait shorter than this shows nothing, so that nothing flashes. */
const QUIET_MS = 300;

export function Waiting({ what = "Loading" }: { what?: string }) {
  const [shown, setShown] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), QUIET_MS);
    return () => clearTimeout(timer);
  }, []);
  return (
    <p class="waiting faint" aria-busy="true">
      {shown ? `${what} …` : " "}
    </p>
  );
}

/** What was loaded, or why it is not there. An older answer stays while a newer one is awaited. */
export function Show<T>({ of, children }: { of: Loaded<T>; children: (data: T) => ComponentChildren }) {
  return (
    <>
      {of.problem !== null && (
        <Problem problem={of.problem}>
          <button type="button" class="button" onClick={of.reload}>
            Try again
          </button>
        </Problem>
      )}
      {of.data !== undefined ? children(of.data) : of.problem === null && <Waiting />}
    </>
  );
}

/** The way to the next page of a list; the list grows below, so nothing jumps. */
export function More<T>({ of }: { of: LoadedList<T> }) {
  if (!of.hasMore) return null;
  return (
    <div class="more">
      <button type="button" class="button" disabled={of.loadingMore} onClick={of.more}>
        {of.loadingMore ? "Loading …" : "Show more"}
      </button>
    </div>
  );
}

/** Nothing there yet, and what to do about it. */
export function Empty({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}

interface HeadingProps {
  title: ComponentChildren;
  /** For the browser's tab. */
  name: string;
  /** What the page is for, in one sentence. */
  children?: ComponentChildren;
  actions?: ComponentChildren;
}

export function Heading({ title, name, children, actions }: HeadingProps) {
  useEffect(() => {
    document.title = `${name} · governd`;
  }, [name]);
  return (
    <header class="heading">
      <div>
        <h1 tabIndex={-1}>{title}</h1>
        {children !== undefined && <p class="faint">{children}</p>}
      </div>
      {actions !== undefined && <div class="row">{actions}</div>}
    </header>
  );
}

/** Views of one thing, each with its own address. */
export function Tabs({
  label,
  tabs,
}: {
  label: string;
  tabs: readonly (readonly [href: string, label: string])[];
}) {
  const { path } = place.value;
  const bar = useRef<HTMLElement>(null);
  useEffect(() => {
    const current = bar.current?.querySelector<HTMLElement>("[aria-current]");
    if (current && bar.current) bar.current.scrollLeft = current.offsetLeft - bar.current.offsetLeft - 48;
  }, [path]);
  return (
    <nav class="tabs" aria-label={label} ref={bar}>
      {tabs.map(([href, text], at) => {
        const current = path === href || (at > 0 && path.startsWith(`${href}/`));
        return (
          <a key={href} href={href} aria-current={current ? "page" : undefined}>
            {text}
          </a>
        );
      })}
    </nav>
  );
}

/** A part of a page with its own heading. */
export function Section(props: { title: string; children: ComponentChildren; actions?: ComponentChildren }) {
  return (
    <section class="section" aria-label={props.title}>
      <div class="section-head">
        <h2>{props.title}</h2>
        {props.actions !== undefined && <div class="row">{props.actions}</div>}
      </div>
      {props.children}
    </section>
  );
}
