/** The tracks of a card's magnetic stripe, as readers and terminals print them. */
import { expect, test } from "bun:test";
import { decide, findingsOf } from "../../src/screen/decide.ts";
import { luhn } from "../../src/screen/pii/number.ts";
import { policiesOf } from "../../src/screen/policies.ts";

const BOTH = policiesOf({ policies: { block_pii: true, block_secrets: true } });
const found = (value: string): string[] =>
  findingsOf(decide(BOTH, { key: "k", value, metadata: {} })).map(({ detector }) => detector);

/** The number with its check digit. */
const numbered = (payload: string): string =>
  [..."0123456789"].map((digit) => payload + digit).find((number) => luhn(number)) as string;
const NUMBERS = ["453277120984615", "37004517829930", "520473881649025", "630429580174462193"].map(numbered);

const TRACKS: Readonly<Record<string, (number: string) => string>> = {
  "the first": (number) => `%B${number}^OKAFOR/NNEKA M^30091010000000000417000000?`,
  "the first, padded": (number) => `%B${number}^OKAFOR/NNEKA              ^3009101000000000        417000000?`,
  "the first, without signs": (number) => `B${number}^OKAFOR/NNEKA^30091010000000000417`,
  "the first, without a date": (number) => `%B${number}^OKAFOR/NNEKA^^^417?`,
  "the second": (number) => `;${number}=30091010000041700000?`,
  "the second, without signs": (number) => `${number}=30091010000041700000`,
  "the second, from a chip": (number) => `${number}D30091010000041700000F`,
  "the third": (number) => `;01${number}=724724100000000000030300417=*==1=000?`,
  "both, in JSON": (number) =>
    JSON.stringify({ t1: `%B${number}^OKAFOR/NNEKA^3009101000?`, t2: `;${number}=3009101000?` }),
};

test.each(Object.entries(TRACKS))("%s track", (_, track) => {
  for (const number of NUMBERS)
    for (const text of [track(number), `swipe ok ${track(number)} amount 7.20`, `"raw":"${track(number)}"`])
      expect(found(text), text).toContain("credit_card");
});

test.each(Object.entries(TRACKS))("%s track with another check digit", (_, track) => {
  const wrong = (NUMBERS[0] as string).replace(/\d$/, (digit) => String((Number(digit) + 1) % 10));
  expect(found(track(wrong))).toEqual([]);
});

test("the whole track is the match", () => {
  const track = TRACKS["the first"] as (number: string) => string;
  const text = `x ${track(NUMBERS[0] as string)} y`;
  const decision = decide(BOTH, { key: "k", value: text, metadata: {} });
  expect(findingsOf(decision).map(({ start, end }) => text.slice(start, end))).toEqual([
    track(NUMBERS[0] as string).slice(1),
  ]);
});

test("powers and assignments of numbers", () => {
  expect(found("2^31 - 1, 123456789012^2^3, offset=1700000000001=1700000000002")).toEqual([]);
});
