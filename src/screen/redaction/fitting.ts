/**
 * Fits what is replaced to the syntax of its text, which stays what it was: JSON, a table, the lines of a settings file.
 * A match may begin or end anywhere in it, since detectors read text.
 */
import type { Span } from "../near.ts";
import { escaped, unescaped, unitsBetween } from "./escapes.ts";
import { embeddedTokens, jsonTokens } from "./json.ts";
import { memberTokens, tableTokens } from "./lines.ts";
import { aroundMarks, firstEndingAfter, marksIn, type Names } from "./marks.ts";
import type { Syntax, Token } from "./token.ts";

/** A piece of a match. The mark in its place is put between two times `quote`. */
export interface Piece extends Span {
  quote: string;
}

/** Matches that consist of several members or cells: street and town, day and year. Others have all in one. */
const IN_PARTS: ReadonlySet<string> = new Set(["postal_address", "date_of_birth"]);
const DIGITS = /^[\d\s()+.-]*$/;
/** The words of a wallet, as items of a list. */
const WORD = /^\p{Ll}{3,8}$/u;
const FEWEST_WORDS = 12;
const CONTENT = /[\p{L}\p{N}]/u;

const overlapOf = (token: Span, place: Span): Span => ({
  start: Math.max(token.start, place.start),
  end: Math.min(token.end, place.end),
});

/** The syntax of one text, and the marks in it. */
export class Fitting {
  readonly #syntax: Syntax | null;
  readonly #marks: readonly Span[];
  readonly #inside = new Map<Token, { fitting: Fitting; starts: Uint32Array | null }>();

  /** `isPart`: the text is a string in another one or in metadata, so a number in it has no quotes. */
  constructor(
    readonly text: string,
    readonly names: Names,
    isPart: boolean,
  ) {
    this.#syntax = syntaxOf(text, isPart);
    this.#marks = marksIn(text, names);
  }

  /**
   * Returns the pieces of a match that are replaced; none when only marks are left in it. Null when it cannot be replaced:
   * it is in a name. `detector`: the name of a detector or a pattern.
   */
  piecesOf(place: Span, detector: string, isOwn = false): Piece[] | null {
    const syntax = this.#syntax;
    if (syntax === null) return this.#withoutMarks(place);
    const touched: Token[] = [];
    for (let at = firstEndingAfter(syntax.tokens, place.start); at < syntax.tokens.length; at++) {
      const token = syntax.tokens[at] as Token;
      if (token.start >= place.end) break;
      touched.push(token);
    }
    const parts = this.#partsOf(touched, place, syntax);
    if (parts === null) return null;
    const chosen = isOwn || IN_PARTS.has(detector) ? parts : this.#first(parts, touched, place);
    const inRow =
      isOwn || !syntax.isTable ? chosen : chosen.filter((token) => this.#isInRow(chosen[0] as Token, token));
    const pieces = inRow.map((token) => this.#piecesIn(token, overlapOf(token, place), detector, isOwn));
    return pieces.includes(null) ? null : pieces.flatMap((some) => some as Piece[]);
  }

  #isInRow = (first: Token, token: Token): boolean =>
    first === token || !this.text.slice(first.end, token.start).includes("\n");

  #withoutMarks(place: Span): Piece[] {
    const piece = aroundMarks(this.text, this.#marks, place);
    return piece === null ? [] : [{ ...piece, quote: "" }];
  }

  #said = (token: Span, place: Span): string => {
    const { start, end } = overlapOf(token, place);
    return this.text.slice(start, end);
  };

  /** The tokens of a match that hold it; null when it is in a name that must stay. */
  #partsOf(touched: readonly Token[], place: Span, { hasFixedNames }: Syntax): Token[] | null {
    const all = touched.filter(({ kind }) => kind !== "name");
    const telling = all.filter((token) => CONTENT.test(this.#said(token, place)));
    const parts = telling.length > 0 ? telling : all;
    const names = touched.filter(({ kind }) => kind === "name");
    if (parts.length === 0) return hasFixedNames || names.length === 0 ? null : names;
    // "Lindenallee 7": 50668
    const personal = names.filter(
      (name) => /\d/.test(this.#said(name, place)) && /\s/.test(this.text.slice(name.start, name.end)),
    );
    if (personal.length > 0 && hasFixedNames) return null;
    return personal.length === 0 ? parts : touched.filter((token) => personal.includes(token) || parts.includes(token));
  }

  /**
   * The first part, and what belongs to it without a name between them: groups of digits, the words of a wallet. A check
   * that reads on to the next space goes beyond the end of a string.
   */
  #first(parts: readonly Token[], touched: readonly Token[], place: Span): readonly Token[] {
    const [begun] = touched as readonly [Token];
    // The signs at the end of a string, after which the check read on.
    if (begun.kind !== "name" && begun !== parts[0] && begun.start <= place.start) return [begun];
    const from = touched.indexOf(parts[0] as Token);
    const name = touched.findIndex(({ kind }, at) => at > from && kind === "name");
    const tied = parts.filter((part) => name < 0 || touched.indexOf(part) < name);
    const said = tied.map((part) => this.#said(part, place));
    if (said.every((one) => DIGITS.test(one))) return tied;
    return said.length >= FEWEST_WORDS && said.every((one) => WORD.test(one)) ? tied : tied.slice(0, 1);
  }

  #piecesIn(token: Token, part: Span, detector: string, isOwn: boolean): Piece[] | null {
    if (token.kind === "number") return [{ start: token.start, end: token.end, quote: '"' }];
    const { fitting, starts } = this.#insideOf(token);
    const [from, to] = [part.start - token.start, part.end - token.start];
    const inner = starts === null ? { start: from, end: to } : unitsBetween(starts, from, to);
    const pieces = fitting.piecesOf(inner, detector, isOwn);
    if (pieces === null) return null;
    const outer = (at: number): number => token.start + (starts === null ? at : (starts[at] as number));
    return pieces.map(({ start, end, quote }) => ({
      start: outer(start),
      end: outer(end),
      quote: escaped(quote, token.escapes),
    }));
  }

  /** The text that a token stands for, which may have a syntax of its own. */
  #insideOf(token: Token): { fitting: Fitting; starts: Uint32Array | null } {
    return this.#inside.getOrInsertComputed(token, () => {
      const source = this.text.slice(token.start, token.end);
      const sign = token.escapes === "doubled" ? '""' : "\\";
      const read = token.escapes !== undefined && source.includes(sign) ? unescaped(source, token.escapes) : null;
      return { fitting: new Fitting(read?.text ?? source, this.names, true), starts: read?.starts ?? null };
    });
  }
}

function syntaxOf(text: string, isPart: boolean): Syntax | null {
  const json = isPart && !/^\s*[[{]/.test(text) ? null : (jsonTokens(text) ?? embeddedTokens(text));
  if (json !== null) return { tokens: json, hasFixedNames: true, isTable: false };
  const cells = tableTokens(text);
  const tokens = cells ?? memberTokens(text);
  return tokens === null ? null : { tokens, hasFixedNames: false, isTable: cells !== null };
}
