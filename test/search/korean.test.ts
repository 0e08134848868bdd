/** Korean nouns are found whatever stands behind them: particles, the parts of a compound, the ending of a verb. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { AgentIndex } from "../../src/search/index/agent-index.ts";

/** Notes as an agent keeps them, by key. */
const NOTES: Readonly<Record<string, string>> = {
  door: "현관문의 비밀번호를 어제 바꿨다",
  server: "운영 서버가 새벽에 두 번 멈췄습니다",
  invoice: "세금계산서는 매달 말일에 발행한다",
  train: "부산행 기차에서 노트북을 잃어버렸다",
  cat: "고양이에게는 우유보다 물이 좋다고 한다",
  rain: "비가 오면 현장 작업은 연기된다",
  book: "책을 세 권 빌렸고 다음 주까지만 볼 수 있다",
  lecture: "강의로는 부족해서 실습도 추가했다",
  deploy: "금요일 오후에는 배포하지 않기로 했습니다",
  schedule: "출장일정이 바뀌면 총무팀부터 알려야 한다",
  autumn: "가을에 이사하려면 여름부터 집을 알아봐야 한다",
  village: "마을 도서관과 체육관이 같은 건물에 있다",
  result: "검사 결과만 팩스로 보내 달라고 했다",
  speed: "회선 속도가 느려서 화상통화처럼 무거운 일은 어렵다",
  expert: "보안 전문가들에게 자문을 구했다",
  docker: "Docker로 띄운 PostgreSQL은 14버전이다",
  address: "주소는 서울특별시 종로구이며 우편번호도 적혀 있다",
  allergy: "땅콩 알레르기라서 과자조차 조심한다",
  parking: "주차장입니다라고 적힌 표지판 옆에 세우면 된다",
  bank: "은행마다 수수료가 달라서 비교해 봤다",
};

/** What is asked for, and the note that must come first. Each is a noun that has something else behind it in its note. */
const ASKED: readonly (readonly [query: string, key: string])[] = [
  ["비밀번호", "door"],
  ["현관문", "door"],
  ["서버", "server"],
  ["새벽", "server"],
  ["세금계산서", "invoice"],
  ["말일", "invoice"],
  ["기차", "train"],
  ["노트북", "train"],
  ["고양이", "cat"],
  ["우유", "cat"],
  ["비", "rain"],
  ["작업", "rain"],
  ["책", "book"],
  ["강의", "lecture"],
  ["실습", "lecture"],
  ["배포", "deploy"],
  ["일정", "schedule"],
  ["총무팀", "schedule"],
  ["가을", "autumn"],
  ["여름", "autumn"],
  ["도서관", "village"],
  ["체육관", "village"],
  ["결과", "result"],
  ["팩스", "result"],
  ["속도", "speed"],
  ["화상통화", "speed"],
  ["전문가", "expert"],
  ["자문", "expert"],
  ["docker", "docker"],
  ["postgresql", "docker"],
  ["서울특별시", "address"],
  ["우편번호", "address"],
  ["알레르기", "allergy"],
  ["과자", "allergy"],
  ["주차장", "parking"],
  ["은행", "bank"],
  ["수수료", "bank"],
];
const PARTICLES = ["은", "이", "를", "에서", "에서는", "까지만", "으로도", "부터의", "입니다"];

let index: AgentIndex;
const keys = Object.keys(NOTES);
beforeAll(() => {
  index = new AgentIndex();
  for (const [id, [, value]] of Object.entries(NOTES).entries()) index.add(id, { key: `n/${id}`, value });
});
afterAll(() => index.close());

const found = (query: string): (string | undefined)[] => index.search(query, { limit: 3 }).map(({ id }) => keys[id]);

describe.each(ASKED)("%s", (noun, key) => {
  test("is found by itself", () => expect([noun, found(noun)[0]]).toEqual([noun, key]));

  test("is found with each particle", () => {
    for (const particle of PARTICLES) {
      const query = `${noun}${particle}`;
      expect([query, found(query)[0]]).toEqual([query, key]);
    }
  });
});

test("a word with particles means what it means without them, so both are equally similar", () => {
  const [plain] = index.search("서버", { limit: 1 });
  for (const query of ["서버를", "서버에서는", "서버들의"]) {
    expect(index.search(query, { limit: 1 })).toEqual([plain as typeof plain & object]);
  }
});

test("a question in a sentence finds its note, and a word that no note has finds none", () => {
  expect(found("우편번호가 뭐였지?")[0]).toBe("address");
  expect(found("배포했던 날")[0]).toBe("deploy");
  expect(found("냉장고")).toEqual([]);
});
