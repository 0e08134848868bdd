/** What Prometheus would read. */

/** Prometheus makes these itself. */
const ITS_OWN = new Set(["up"]);
/** What a name of a histogram's numbers ends in. */
const PART = /_(bucket|sum|count)$/;

export class Scrape {
  readonly #values = new Map<string, number>();
  readonly #families = new Set<string>();

  constructor(readonly text: string) {
    for (const line of text.split("\n")) {
      const [, family] = /^# TYPE (\S+)/.exec(line) ?? [];
      if (family !== undefined) this.#families.add(family);
      if (line === "" || line.startsWith("#")) continue;
      const at = line.lastIndexOf(" ");
      this.#values.set(line.slice(0, at), Number(line.slice(at + 1)));
    }
  }

  static async of(url: string): Promise<Scrape> {
    const response = await fetch(url);
    if (!response.ok) throw new Error(`the metrics answered ${response.status}`);
    return new Scrape(await response.text());
  }

  /** Returns a number by its name and labels as written; 0 when it is missing. */
  value(name: string): number {
    return this.#values.get(name) ?? 0;
  }

  get names(): string[] {
    return [...this.#values.keys()];
  }

  /** The metrics of an expression that are not among these. */
  missing(expression: string): string[] {
    const names = expression.match(/\b(governd|process|nodejs)_\w+|\bup\b/g) ?? [];
    return names.filter(
      (name) => !ITS_OWN.has(name) && !this.#families.has(name) && !this.#families.has(name.replace(PART, "")),
    );
  }
}
