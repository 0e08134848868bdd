import { describe, expect, test } from "bun:test";
import { MAX_TOKEN_LENGTH, tokenize } from "../../src/search/words/tokenize.ts";

describe("tokenize", () => {
  const cases: [text: string, tokens: string[]][] = [
    ["The quick Brown fox, 2 times.", ["the", "quick", "brown", "fox", "2", "times"]],
    ["user_42", ["user", "42", "user_42"]],
    ["ERR-1093", ["err", "1093", "err-1093"]],
    ["src/time/duration.ts", ["src", "time", "duration", "ts", "src/time/duration.ts"]],
    ["ana@example.org", ["ana", "example", "org", "ana@example.org"]],
    ["parseIsoDuration", ["parse", "iso", "duration", "parseisoduration"]],
    ["HTTPServer", ["http", "server", "httpserver"]],
    ["LH1174", ["lh", "1174", "lh1174"]],
    ["10.4.2.17", ["10", "4", "2", "17", "10.4.2.17"]],
    ["12,450.00 EUR", ["12", "450", "00", "12450.00", "eur"]],
    ["two-factor sign-in", ["two", "factor", "sign", "in"]],
    ["Melanie's dog doesn't bite", ["melanie", "dog", "does", "bite"]],
    ["O'Brien", ["o", "brien", "obrien"]],
    ["Crème brûlée, Łódź, Straße, ﬁne", ["creme", "brulee", "lodz", "strasse", "fine"]],
    ["Ελλάδα Москва", ["ελλαδα", "москва"]],
    ["C++ and C#, F#; .NET 8", ["c", "c++", "and", "c", "c#", "f", "f#", "net", ".net", "8"]],
    ["c++17 ... and a.b. .5 x+ #1", ["c", "17", "c++17", "and", "a", "b", "a.b", "5", "x", "1"]],
    ["é: C# .env", ["e", "c", "c#", "env", ".env"]],
    ["서버가 느리다", ["서버가", "느리다", "느리", "리다"]],
    ["책을 API로 주문-42", ["책을", "책", "api", "주문", "42", "주문-42"]],
    ["한국어 사용자", ["한국어", "한국", "국어", "사용자", "사용", "용자"]],
    ["用户喜欢绿茶", ["用户", "喜欢", "绿茶"]],
    ["今日は東京で会議", ["今日", "は", "東京", "で", "会議"]],
    ["ผู้ใช้ชอบกาแฟ", ["ผู้", "ใช้", "ชอบ", "กาแฟ"]],
    ["", []],
    ["… !? | ─── █ ½", ["1", "2"]],
    ["done \u{1f600}! ✅billing", ["done", "\u{1f600}", "✅", "billing"]],
    ["❤️ ❤ ✔︎ ✔️", ["❤", "❤", "✔", "✔"]],
    ["👍 👍🏽 👩🏿‍💻 👩‍💻", ["👍", "👍", "👩‍💻", "👩‍💻"]],
    ["🤷‍♀️ 🤷🏼‍♂️ 🤷 👨‍👩‍👧 ❤️‍🔥", ["🤷", "🤷", "🤷", "👨‍👩‍👧", "❤‍🔥"]],
    ["🇰🇷🇯🇵 🏴󠁧󠁢󠁳󠁣󠁴󠁿", ["🇰🇷", "🇯🇵", "🏴󠁧󠁢󠁳󠁣󠁴󠁿"]],
    ["1️⃣ #️⃣", ["1⃣", "#⃣"]],
    ["€5 → ₩9 © ✓", ["€", "5", "→", "₩", "9", "©", "✓"]],
  ];
  for (const [text, tokens] of cases) {
    test(text, () => expect(tokenize(text)).toEqual(tokens));
  }

  test("an endless token keeps a fixed length, and equal ones stay equal", () => {
    const blob = "abcdefghij".repeat(10_000);
    const [token] = tokenize(blob);
    expect(token?.length).toBeLessThanOrEqual(MAX_TOKEN_LENGTH);
    expect(tokenize(blob)).toEqual([token as string]);
    expect(tokenize(`${blob}x`)).not.toEqual([token as string]);
  });
});
