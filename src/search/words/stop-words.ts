/**
 * English words that carry grammar rather than subject. A query drops them unless it consists of
 * nothing else; entries keep them, since their length and such a query need them.
 */
export const STOP_WORDS: ReadonlySet<string> = new Set(
  `a about after again all also am an and any are as at be because been before being between both but
  by can could did do does doing during each for from further had has have having he her here hers him
  his how i if in into is it its itself just me my no nor not of on or our ours out over own s same she
  should so some such t than that the their theirs them then there these they this those through to too
  under until up us very was we were what when where which while who whom whose why will with would you
  your yours`.split(/\s+/),
);
