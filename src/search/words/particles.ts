/**
 * Korean words. A noun is written together with the particles behind it (`서버에서는`), so a search for the noun compares
 * words without them.
 */

/** Particles, the plural, and the copula, the longest first. Several may follow each other. */
const PARTICLES: readonly string[] =
  "은 는 이 가 을 를 에 의 와 과 도 로 만 께 야 나 랑 들 에서 에게 한테 께서 까지 부터 보다 처럼 같이 마다 조차 마저 밖에 으로 이나 이랑 이라 하고 라도 라고 이며 이고 이다 예요 에게서 한테서 으로서 으로써 로서 로써 이라도 이라고 이에요 입니다 입니까 였습니다 이었습니다"
    .split(" ")
    .sort((a, b) => b.length - a.length);

/** The same by their last syllables, since most words end with none of them. */
const BY_ENDING: ReadonlyMap<string, readonly string[]> = Map.groupBy(PARTICLES, (one) => one.slice(-1));

const HANGUL = /^\p{sc=Hangul}+$/u;
/** A word is not made shorter than this: many short nouns end like a particle (`회의`, `결과`). */
const SHORTEST = 2;
/** Words this long or longer are also indexed by their pairs of syllables. */
const PAIRED_FROM = 3;

/** Reports whether a text is a single particle, as it stands behind a word of other letters (`API를`). */
export const isParticle = (text: string): boolean => PARTICLES.includes(text);

/** Reports whether a token consists of Korean syllables. */
export const isHangul = (token: string): boolean => HANGUL.test(token);

/**
 * Returns a Korean word without its particles, at least {@link SHORTEST} syllables of it. It may lose the end of a noun
 * that ends like a particle, with particles and without them alike.
 */
export function withoutParticles(word: string): string {
  let rest = word;
  for (;;) {
    const particle = particleOf(rest, (length) => length >= SHORTEST);
    if (particle === undefined) return rest;
    rest = rest.slice(0, -particle.length);
  }
}

/** Returns the longest particle at the end of a word that leaves enough of it. `로` behind `으` is a part of `으로`. */
const particleOf = (word: string, isEnough: (length: number) => boolean): string | undefined =>
  BY_ENDING.get(word.slice(-1))?.find(
    (one) =>
      isEnough(word.length - one.length) &&
      word.endsWith(one) &&
      !(one.startsWith("로") && word.at(-one.length - 1) === "으"),
  );

/**
 * Appends a Korean word as tokens: the word, which is compared without its particles, and what else it may hold. That is
 * a noun of one syllable before a particle (`책을`), or pairs of syllables, by which parts of compounds and nouns before
 * the endings of verbs are found (`배포했습니다`).
 */
export function appendHangul(word: string, into: string[]): void {
  into.push(word);
  const rest = withoutParticles(word);
  if (particleOf(rest, (length) => length === 1) !== undefined) {
    into.push(rest.slice(0, 1));
  } else if (rest.length >= PAIRED_FROM) {
    for (let at = 0; at + 2 <= rest.length; at++) into.push(rest.slice(at, at + 2));
  }
}
