/** Parts that pages share. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Loaded, LoadedList } from "../state/load.ts";
import { place } from "../state/router.ts";
import { Button } from "./button.tsx";
import { Problem } from "./problem.tsx";

/** A shorter wait shows nothing, so that the page does not flicker. */
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

/** Shows what was loaded, or why it is missing. Old data stays while newer data is loading. */
export function Show<T>({ of, children }: { of: Loaded<T>; children: (data: T) => ComponentChildren }) {
  return (
    <>
      {of.problem !== null && (
        <Problem problem={of.problem}>
          <Button onClick={of.reload}>Try again</Button>
        </Problem>
      )}
      {of.data !== undefined ? children(of.data) : of.problem === null && <Waiting />}
    </>
  );
}

/** Loads the next page of a list. The list grows at its end, so nothing moves. */
export function More<T>({ of }: { of: LoadedList<T> }) {
  if (!of.hasMore) return null;
  return (
    <div class="more">
      <Button disabled={of.loadingMore} onClick={of.more}>
        {of.loadingMore ? "Loading …" : "Show more"}
      </Button>
    </div>
  );
}

/** Says that nothing is there yet, and what to do. */
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
export function Tabs({ label, tabs }: { label: string; tabs: readonly (readonly [href: string, label: string])[] }) {
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

/** A table whose rows become cards in a narrow window. A head that is text makes a plain column. */
export function Table({ head, children }: { head: readonly ComponentChildren[]; children: ComponentChildren }) {
  return (
    <div class="table-frame">
      <table class="table table-cards">
        <thead>
          <tr>
            {head.map((cell, at) =>
              typeof cell === "string" ? (
                <th key={at} scope="col">
                  {cell}
                </th>
              ) : (
                cell
              ),
            )}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

/** The head of a column of buttons. */
export const ACTIONS = (
  <th scope="col">
    <span class="sr-only">Actions</span>
  </th>
);

/** A name and its value, in a list with the class `facts`. */
export function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
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
