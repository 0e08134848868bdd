/** Text to take along: a key, a command, a hash. */
import { useEffect, useState } from "preact/hooks";
import { say } from "../state/notices.ts";
import { Icon } from "./icon.tsx";

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
      say("The browser did not allow copying. Select the text and copy it by hand.", "bad");
    }
  };
  return (
    <button type="button" class="button icon-button" onClick={copy} aria-label={label} title={label}>
      <Icon name={copied ? "check" : "copy"} />
      <span class="sr-only" role="status">
        {copied ? "Copied" : ""}
      </span>
    </button>
  );
}

/** A block of text with a copy button. */
export function CopyBlock({ text, label }: { text: string; label: string }) {
  return (
    <div class="copy-block">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it */}
      <section tabIndex={0} aria-label={label}>
        <pre>{text}</pre>
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
