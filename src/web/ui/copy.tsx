/** Text to copy: a key, a command, a hash. */
import { useEffect, useState } from "preact/hooks";
import type { SignedIn } from "../api/types.ts";
import { useAsk } from "../state/load.ts";
import { Button } from "./button.tsx";
import { curlExample, type Daemon, EXAMPLES, mcpExample } from "./examples/examples.ts";
import { Icon } from "./icon.tsx";
import { say } from "./notices.tsx";

const SHOWN_MS = 1_600;

export function CopyButton({ text, label }: { text: string; label: string }) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
    } catch {
      say("The browser", "did not allow copying. Select the text and copy it by hand.", "bad");
    }
  };
  return (
    <Button kind="icon" onClick={copy} aria-label={label} title={label}>
      <Icon name={copied ? "check" : "copy"} />
      <span class="sr-only" role="status">
        {copied ? "Copied" : ""}
      </span>
    </Button>
  );
}

/** A block of text with a copy button. */
export function CopyBlock({ text, label }: { text: string; label: string }) {
  return (
    <div class="copy-block">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it */}
      <section tabIndex={0} aria-label={label}>
        <pre>{text === "" ? <span class="faint">(an empty text)</span> : text}</pre>
      </section>
      <CopyButton text={text} label={`Copy ${label.toLowerCase()}`} />
    </div>
  );
}

/** A long identifier: its beginning and its end, whole on hover and when copied. */
export function Digest({ text, label }: { text: string; label: string }) {
  return (
    <span class="digest">
      <code title={text}>{text.length > 24 ? `${text.slice(0, 12)}…${text.slice(-8)}` : text}</code>
      <CopyButton text={text} label={`Copy ${label}`} />
    </span>
  );
}

function FirstRequests({ apiKey, daemon }: { apiKey: string; daemon: Daemon }) {
  return (
    <>
      <p>
        A first request with it
        {daemon.caFile === null ? ":" : ". On another machine, give the path of a copy of the daemon's ca.crt:"}
      </p>
      <CopyBlock label="curl command" text={curlExample(daemon, apiKey)} />
      <p>Or connect a program that speaks MCP, here Claude Code, as the agent "assistant":</p>
      <CopyBlock label="MCP command" text={mcpExample(daemon, apiKey)} />
    </>
  );
}

/** A key, which is shown only once, and a first request with it. */
export function NewKey({ apiKey }: { apiKey: string }) {
  // Somebody who has just signed up has a session, of which the page knows nothing yet.
  const { data } = useAsk<SignedIn>("/account");
  return (
    <div class="stack">
      <p class="callout tone-warn">
        <strong>This key is shown only now.</strong> Put it where your agent finds it, such as a secret store, and
        nowhere public.
      </p>
      <CopyBlock label="API key" text={apiKey} />
      {data !== undefined && (
        <FirstRequests apiKey={apiKey} daemon={{ origin: location.origin, caFile: data.ca_file }} />
      )}
    </div>
  );
}

/** First requests in several languages, for a key that is in the environment. */
export function FirstPrograms({ daemon }: { daemon: Daemon }) {
  const [chosen, setChosen] = useState(0);
  const [name = "", text] = EXAMPLES[chosen] ?? [];
  return (
    <div class="stack">
      <fieldset class="segments first-programs">
        <legend class="sr-only">Language</legend>
        {EXAMPLES.map(([language], at) => (
          <button key={language} type="button" aria-pressed={at === chosen} onClick={() => setChosen(at)}>
            {language}
          </button>
        ))}
      </fieldset>
      <CopyBlock label={`${name} example`} text={text?.(daemon) ?? ""} />
    </div>
  );
}
