/** Parts that pages share. */
import { type ComponentChildren, Fragment, type RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { contentPolicies } from "../../screen/policies.ts";
import type { ApiProblem } from "../api/problem.ts";
import type { Finding } from "../api/types.ts";
import type { Loaded, LoadedList } from "../state/load.ts";
import { isCurrent, path } from "../state/router.ts";
import { useTitle } from "../state/title.ts";
import { Button } from "./button.tsx";
import { Badge, MODE_TONES } from "./inline.tsx";

/** A shorter wait shows nothing, so that the page does not flicker. */
const QUIET_MS = 300;

export function Waiting() {
  const [shown, setShown] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), QUIET_MS);
    return () => clearTimeout(timer);
  }, []);
  return (
    <p class="waiting faint" aria-busy="true">
      {shown ? "Loading …" : " "}
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

interface ItemsProps<T> {
  of: Loaded<T[]> | LoadedList<T>;
  /** Shown when there are none. */
  empty: ComponentChildren;
  children(items: readonly T[]): ComponentChildren;
}

/** Shows a list, and a button for its next page. The list grows at its end, so nothing moves. */
export function ShowItems<T>({ of, empty, children }: ItemsProps<T>) {
  return (
    <Show of={of}>
      {(items) => (
        <>
          {items.length === 0 ? empty : children(items)}
          {"more" in of && of.hasMore && (
            <div class="more">
              <Button action={of.more}>{of.more.busy ? "Loading …" : "Show more"}</Button>
            </div>
          )}
        </>
      )}
    </Show>
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
  /** Also the title of the browser's tab. */
  title: string;
  badge?: ComponentChildren;
  /** What the page is for, in one sentence. */
  children?: ComponentChildren;
  actions?: ComponentChildren;
}

export function Heading({ title, badge, children, actions }: HeadingProps) {
  useTitle("page", title);
  return (
    <header class="heading">
      <div>
        <h1 tabIndex={-1}>
          {title} {badge}
        </h1>
        {children !== undefined && <p class="faint">{children}</p>}
      </div>
      {actions !== undefined && <div class="row">{actions}</div>}
    </header>
  );
}

/** Views of one thing, each with its own address. */
export function Tabs({ label, tabs }: { label: string; tabs: readonly (readonly [href: string, label: string])[] }) {
  const bar = useRef<HTMLElement>(null);
  useTitle("tab", tabs.find(([href], at) => isCurrent(href, at === 0))?.[1] ?? null);
  useEffect(() => {
    const current = bar.current?.querySelector<HTMLElement>("[aria-current]");
    if (current && bar.current) bar.current.scrollLeft = current.offsetLeft - bar.current.offsetLeft - 48;
  }, [path.value]);
  return (
    <nav class="tabs" aria-label={label} ref={bar}>
      {tabs.map(([href, text], at) => (
        <a key={href} href={href} aria-current={isCurrent(href, at === 0) ? "page" : undefined}>
          {text}
        </a>
      ))}
    </nav>
  );
}

interface TableProps {
  head: readonly ComponentChildren[];
  /** The element with the rows. */
  body?: RefObject<HTMLTableSectionElement | null>;
  children: ComponentChildren;
}

/** A table whose rows become cards in a narrow window. A head that is text makes a plain column. */
export function Table({ head, body, children }: TableProps) {
  return (
    <div class="table-frame">
      <table class="table">
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
        <tbody {...(body && { ref: body })}>{children}</tbody>
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

/** Values with their names. A value that is null is left out. */
export function Facts({ of }: { of: Readonly<Record<string, ComponentChildren>> }) {
  return (
    <dl class="facts">
      {Object.entries(of).map(
        ([name, value]) =>
          value !== null && (
            <Fragment key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </Fragment>
          ),
      )}
    </dl>
  );
}

interface SectionProps {
  title: string;
  children: ComponentChildren;
  actions?: ComponentChildren;
  /** The least height, so that what is below does not move when this is loaded: a length of CSS. */
  height?: string;
}

/** A part of a page with its own heading. */
export function Section(props: SectionProps) {
  return (
    <section class="section" aria-label={props.title} style={{ minHeight: props.height }}>
      <div class="section-head">
        <h2>{props.title}</h2>
        {props.actions !== undefined && <div class="row">{props.actions}</div>}
      </div>
      {props.children}
    </section>
  );
}

interface Props {
  problem: ApiProblem | null;
  /** What can be done about it. */
  children?: ComponentChildren;
}

export function Problem({ problem, children }: Props) {
  if (problem === null) return null;
  const { findings } = problem;
  return (
    <div class="callout tone-bad" role="alert">
      <p>
        <strong>{problem.title}.</strong> {problem.message}
      </p>
      {problem.entry !== null && (
        <p>
          The entry is <code>{problem.entry}</code>.
        </p>
      )}
      {findings.length > 0 && <Findings findings={findings} />}
      {problem.requestId !== null && (
        <p class="faint small">
          Request <code>{problem.requestId}</code> · {problem.code}
        </p>
      )}
      {children !== undefined && <div class="row">{children}</div>}
    </div>
  );
}

/** Returns the name of the policy that blocked something. */
export const policyName = (blockedBy: string): string => blockedBy.replace("policy:", "");

const FORBIDDEN: ReadonlyMap<string, string> = new Map(contentPolicies().map(([name, { forbids }]) => [name, forbids]));

/** Returns a detector's name as words: `payment_card` is "payment card". */
const detectorWords = (detector: string): string => detector.replaceAll("_", " ");

/** Returns where a finding is: "value, characters 15 to 31". */
function whereWords({ field, start, end }: Finding): string {
  const place = field.startsWith("metadata.") ? field : `the ${field}`;
  return end - start === 1 ? `in ${place}, character ${start + 1}` : `in ${place}, characters ${start + 1} to ${end}`;
}

interface FindingsProps {
  findings: readonly Finding[];
  /** Says what happens at each, where that is not the same for all. */
  withModes?: boolean;
}

/** What was found and where. A finding never holds the matched text. */
export function Findings({ findings, withModes = false }: FindingsProps) {
  return (
    <ul class="findings">
      {findings.map((finding) => (
        <li key={`${finding.field}:${finding.start}:${finding.end}:${finding.detector}`}>
          <strong>{detectorWords(finding.detector)}</strong> {whereWords(finding)}
          <span class="faint"> · {FORBIDDEN.get(finding.policy) ?? finding.policy}</span>
          {withModes && (
            <>
              {" "}
              <Badge tone={MODE_TONES[finding.mode]}>{finding.mode}</Badge>
            </>
          )}
        </li>
      ))}
    </ul>
  );
}

/** Text with its findings marked. Only for text that the user typed on this page, or that it shows anyway. */
export function Marked({ text, findings }: { text: string; findings: readonly Finding[] }) {
  const parts = [];
  let at = 0;
  for (const { start, end, detector, mode } of [...findings].sort((a, b) => a.start - b.start)) {
    if (start < at) continue;
    parts.push(text.slice(at, start));
    parts.push(
      <mark key={start} class={`mark-${mode}`} title={detectorWords(detector)}>
        {text.slice(start, end)}
      </mark>,
    );
    at = end;
  }
  parts.push(text.slice(at));
  return <pre class="marked">{parts}</pre>;
}
